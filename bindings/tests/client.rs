//! What a client other than srun may send: bits that do not exist, texts without end.

mod common;

use common::{Bytes, Variant, fakes, variants};

use slurm_sys::LaunchRequest;

const LAUNCH: &str = "launch_tasks_request_msg_t";
/// More than any text has that is read here.
const LIMIT: usize = 64;

fn launch<'a>(bytes: &mut Bytes, variant: &Variant) -> LaunchRequest<'a> {
    // SAFETY: the test keeps the record longer than the view.
    unsafe { LaunchRequest::from_raw(bytes.base(), variant.layout, fakes::symbols()) }.unwrap()
}

#[test]
fn bits_that_no_release_or_an_earlier_one_has_are_told() {
    for variant in variants() {
        let had_rank = !variant.json["constants"]["CPU_BIND_RANK"].is_null();
        let mut bytes = Bytes::new(&variant, LAUNCH);
        for (bits, unknown) in [
            (0x2105, 0),
            (0x9001, 0x9000),
            (0x41, if had_rank { 0 } else { 0x40 }),
        ] {
            bytes.put("cpu_bind_type", bits);
            let told = launch(&mut bytes, &variant).unknown_binding_bits();
            assert_eq!(told, unknown, "{} {bits:#x}", variant.name());
        }
    }
}

#[test]
fn a_value_that_is_too_long_is_not_copied() {
    let variants = variants();
    let mut bytes = Bytes::new(&variants[0], LAUNCH);
    let long = format!("LONG={}", "x".repeat(LIMIT + 1));
    bytes
        .put_pointer("env", fakes::new_env(&["SHORT=x", &long]))
        .put("envc", 2)
        .put_owned_text("cpu_bind", &"1,".repeat(LIMIT));
    let mut view = launch(&mut bytes, &variants[0]);
    assert_eq!(view.env_get("LONG", LIMIT), None);
    assert_eq!(view.env_get("LONG", LIMIT + 1).map(|it| it.len()), Some(65));
    let told = view.cpu_bind(LIMIT).unwrap_err().to_string();
    assert!(told.contains("longer than 64 bytes"), "{told}");
    view.set_cpu_bind(0, None).unwrap();
    fakes::free_env(std::ptr::with_exposed_provenance_mut(
        bytes.get("env") as usize
    ));
    assert_eq!(fakes::LIVE_BLOCKS.get(), 0);
}
