//! The checks before a table is trusted: sound records pass in every release, and each way to be
//! unsound is told in words.

use super::fields::{of_every_release, put_all};
use super::lines::hold;
use crate::common::{Bytes, LAUNCH, Variant, fakes, launch, slurmd_conf, variants};
use slurm_sys::sanity::{Doubt, conf_is_sane, launch_is_sane, launch_is_still_sane};
use slurm_sys::{Identity, SlurmdConf};

fn on_host(host: &str) -> Identity {
    Identity {
        node_argument: None,
        host: host.into(),
    }
}

fn sound_conf(variant: &Variant) -> Bytes<'_> {
    let mut bytes = Bytes::new(variant, "slurmd_conf_t");
    let fields = "cpus=4; sockets=1; cores=2; threads=2; block_map_size=4; block_map=list:0,2,1,2; \
                  node_name=n1; hostname=host1";
    put_all(variant, &mut bytes, fields);
    bytes
}

fn check_conf(bytes: &mut Bytes, variant: &Variant, who: &Identity) -> Result<(), String> {
    let conf = slurmd_conf(bytes, variant);
    conf_is_sane(&conf, who, Some(4)).map_err(|why| why.to_string())
}

#[test]
fn sound_settings_pass_also_with_a_cpu_twice_in_the_map() {
    for variant in variants() {
        let accepted = [
            on_host("host1"),
            on_host("n1"),
            on_host("HOST1.example.org"),
            Identity {
                node_argument: Some("n1".into()),
                host: "elsewhere".into(),
            },
        ];
        for who in accepted {
            assert_eq!(
                check_conf(&mut sound_conf(&variant), &variant, &who),
                Ok(()),
                "{} {who:?}",
                variant.name()
            );
        }
        let mut bytes = sound_conf(&variant);
        bytes.put_array("block_map", 2, &[0, 2, 1, 999]);
        let conf = slurmd_conf(&mut bytes, &variant);
        assert_eq!(
            conf_is_sane(&conf, &on_host("n1"), None),
            Ok(()),
            "another machine's CPU numbers are unknown"
        );
    }
}

/// The answer of every release to a record with some changes, separated by `; `.
#[test]
fn unsound_records_are_refused_in_words() {
    let variants = variants();
    hold(include_str!("sanity.txt"), |about, changes| {
        let mut words = about.split(' ').skip(1);
        let mut word = || words.next().unwrap_or_default();
        let (node_id, node) = (word().parse().unwrap_or_default(), word());
        of_every_release(&variants, |variant| {
            if about != "conf" {
                let answer = check_launch(variant, node, node_id, changes);
                return answer.map_or_else(|why| why, |index| index.to_string());
            }
            let mut bytes = sound_conf(variant);
            put_all(variant, &mut bytes, changes);
            check_conf(&mut bytes, variant, &on_host("host1")).unwrap_err()
        })
    });
}

#[test]
fn another_node_is_named() {
    let who = Identity {
        node_argument: Some("n7".into()),
        host: "elsewhere".into(),
    };
    for variant in &variants() {
        let told = check_conf(&mut sound_conf(variant), variant, &who).unwrap_err();
        assert!(told.contains("expected -N n7 or host elsewhere"), "{told}");
    }
}

#[test]
fn a_longest_name_is_read_to_its_end() {
    for variant in &variants() {
        for (letters, is_sane) in [(255, true), (256, false)] {
            let mut bytes = sound_conf(variant);
            let name = "n".repeat(letters);
            bytes.put_text("node_name", &name);
            match check_conf(&mut bytes, variant, &on_host(&name)) {
                Ok(()) => assert!(is_sane, "{letters}"),
                Err(why) => assert!(!is_sane && why.contains("where no such text is"), "{why}"),
            }
        }
    }
}

#[test]
fn a_record_outside_all_memory_is_found_out_without_a_crash() {
    for variant in variants() {
        // SAFETY: the check looks at the address only through the kernel.
        let conf = unsafe {
            SlurmdConf::from_raw(std::ptr::without_provenance_mut(0x1000), variant.layout)
        }
        .unwrap();
        assert!(
            conf_is_sane(&conf, &on_host("n1"), None)
                .unwrap_err()
                .found
                .contains("the record at 0x1000")
        );
    }
}

/// The answer of the sanity check to a sound request of two nodes with some changes.
fn check_launch(variant: &Variant, node: &str, node_id: u32, changes: &str) -> Result<u32, String> {
    let ids = [vec![0u32, 1], vec![2, 3, 4]];
    let lists = [0, 1].map(|node: usize| ids[node].as_ptr().expose_provenance() as u64);
    let mut arguments = Bytes::new(variant, "slurm_cred_arg_t");
    arguments
        .put("job_nhosts", 3)
        .put_text("job_hostlist", "a,b,c");
    let cred = [arguments.base()];
    let mut bytes = Bytes::new(variant, LAUNCH);
    bytes
        .put("nnodes", 2)
        .put("ntasks", 5)
        .put("cpu_bind_type", 0x2105)
        .put_pointer("cred", cred.as_ptr())
        .put_array("tasks_to_launch", 2, &[2, 3])
        .put_array("global_task_ids", 8, &lists);
    put_all(variant, &mut bytes, changes);
    let request = launch(&mut bytes, variant);
    let text = |why: Doubt| why.to_string();
    let result = launch_is_sane(&request, node_id, node).map_err(text);
    // Both checks find every fault but a wild pointer.
    if !matches!(&result, Err(text) if text.contains("where no") && !text.contains(" at 0x0,")) {
        assert_eq!(
            launch_is_still_sane(&request, node_id, node).map_err(text),
            result
        );
    }
    assert_eq!(fakes::LOCKED.get(), 0);
    result
}
