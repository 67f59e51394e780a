//! Batch requests of every release, read and changed through the views.

use crate::common::{BATCH, Bytes, batch, fakes, variants};

#[test]
fn a_batch_request_is_read_and_changed() {
    for variant in variants() {
        let mut bytes = Bytes::new(&variant, BATCH);
        match variant.field(BATCH, "job_id") {
            Some(_) => bytes.put("job_id", 815),
            None => bytes.put_step_id(
                "step_id",
                (
                    815,
                    variant.constant("SLURM_BATCH_SCRIPT"),
                    variant.constant("NO_VAL"),
                ),
            ),
        };
        bytes
            .put("cpu_bind_type", 0x8001)
            .put_owned_text("cpu_bind", "threads");
        let mut request = batch(&mut bytes, &variant);
        assert_eq!(
            (request.job_id(), request.cpu_bind_type()),
            (815, 0x8001),
            "{}",
            variant.name()
        );
        assert_eq!(request.cpu_bind().as_deref(), Some("threads"));
        request.set_cpu_bind(0x100, Some("0xF")).unwrap();
        assert_eq!(bytes.get("cpu_bind_type"), 0x100);
        assert_eq!(bytes.text_at("cpu_bind").as_deref(), Some("0xF"));
        batch(&mut bytes, &variant).set_cpu_bind(0, None).unwrap();
        assert_eq!(fakes::LIVE_BLOCKS.get(), 0);
    }
}
