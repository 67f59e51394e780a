//! The checks before a table is trusted: sound records pass in every release, and each way to be
//! unsound is told in words.

mod common;

use common::{Bytes, Variant, fakes, variants};
use slurm_sys::sanity::{Doubt, conf_is_sane, launch_is_sane, launch_is_still_sane};
use slurm_sys::{Identity, LaunchRequest, SlurmdConf};
use std::ffi::c_void;

fn on_host(host: &str) -> Identity {
    Identity {
        node_argument: None,
        host: host.into(),
    }
}

fn sound_conf(variant: &Variant) -> Bytes<'_> {
    let mut bytes = Bytes::new(variant, "slurmd_conf_t");
    bytes
        .put("cpus", 4)
        .put("sockets", 1)
        .put("cores", 2)
        .put("threads", 2);
    bytes
        .put("block_map_size", 4)
        .put_array("block_map", 2, &[0, 2, 1, 2]);
    bytes
        .put_text("node_name", "n1")
        .put_text("hostname", "host1");
    bytes
}

fn check_conf(bytes: &mut Bytes, variant: &Variant, who: &Identity) -> Result<(), String> {
    // SAFETY: the test keeps the record longer than the view.
    let conf = unsafe { SlurmdConf::from_raw(bytes.base(), variant.layout) }.unwrap();
    conf_is_sane(&conf, who, Some(4)).map_err(|why| why.to_string())
}

/// The text for settings that `change` made unsound.
fn conf_text(variant: &Variant, change: impl FnOnce(&mut Bytes)) -> String {
    let mut bytes = sound_conf(variant);
    change(&mut bytes);
    let text = check_conf(&mut bytes, variant, &on_host("host1")).unwrap_err();
    assert!(
        text.starts_with("slurmd's settings (conf): found ") && text.contains("slurmd -V"),
        "{text}"
    );
    text
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
        // SAFETY: the test keeps the record longer than the view.
        let conf = unsafe { SlurmdConf::from_raw(bytes.base(), variant.layout) }.unwrap();
        assert_eq!(
            conf_is_sane(&conf, &on_host("n1"), None),
            Ok(()),
            "another machine's CPU numbers are unknown"
        );
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of cases")]
fn unsound_settings_are_told_in_words() {
    let has = |text: String, part: &str| assert!(text.contains(part), "{text}\nlacks {part}");
    for variant in &variants() {
        has(
            conf_text(variant, |bytes| {
                bytes.put("node_name", 0);
            }),
            "no node name",
        );
        has(
            conf_text(variant, |bytes| {
                bytes.put("node_name", 4096);
            }),
            "node name at 0x1000, where no such text is",
        );
        has(
            conf_text(variant, |bytes| {
                bytes.put("hostname", u64::MAX - 3);
            }),
            "where no such text is",
        );
        has(
            conf_text(variant, |bytes| {
                bytes.put_text("node_name", "a b");
            }),
            r#"node name "a b", expected a node name of 1 to 255 letters"#,
        );
        has(
            conf_text(variant, |bytes| {
                bytes.put_text("node_name", "");
            }),
            r#"node name """#,
        );
        has(
            conf_text(variant, |bytes| {
                bytes.put_text("node_name", &"n".repeat(256));
            }),
            "where no such text is",
        );
        has(
            conf_text(variant, |bytes| {
                bytes.put_text("node_name", "n2").put_text("hostname", "h2");
            }),
            "node n2 on host h2, expected host host1",
        );
        has(
            conf_text(variant, |bytes| {
                bytes.put("threads", 0);
            }),
            "4 CPUs in 1 sockets of 2 cores of 0 threads",
        );
        has(
            conf_text(variant, |bytes| {
                bytes.put("sockets", 256).put("cores", 256);
            }),
            "no more than 65535 threads",
        );
        has(
            conf_text(variant, |bytes| {
                bytes.put("cpus", 0);
            }),
            "0 CPUs",
        );
        has(
            conf_text(variant, |bytes| {
                bytes.put("block_map_size", 0);
            }),
            "an empty block map",
        );
        has(
            conf_text(variant, |bytes| {
                bytes.put("block_map", 0);
            }),
            "an empty block map",
        );
        has(
            conf_text(variant, |bytes| {
                bytes.put("block_map", 64);
            }),
            "the block map at 0x40, where no 8 bytes are",
        );
        has(
            conf_text(variant, |bytes| {
                bytes.put_array("block_map", 2, &[0, 1, 4, 3]);
            }),
            "CPU 4 in the block map, expected CPU numbers below 4",
        );
    }
    let who = Identity {
        node_argument: Some("n7".into()),
        host: "elsewhere".into(),
    };
    has(
        check_conf(&mut sound_conf(&variants()[0]), &variants()[0], &who).unwrap_err(),
        "expected -N n7 or host elsewhere",
    );
}

#[test]
fn a_longest_name_is_read_to_its_end() {
    let variants = variants();
    let mut bytes = sound_conf(&variants[0]);
    let name = "n".repeat(255);
    bytes.put_text("node_name", &name);
    assert_eq!(
        check_conf(&mut bytes, &variants[0], &on_host(&name)),
        Ok(())
    );
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

/// A sound request for node 1 of two, whose lists the caller keeps.
fn sound_launch<'v>(variant: &'v Variant, lists: &[u64; 2], cred: *const c_void) -> Bytes<'v> {
    let mut bytes = Bytes::new(variant, "launch_tasks_request_msg_t");
    bytes
        .put("nnodes", 2)
        .put("ntasks", 5)
        .put("cpu_bind_type", 0x2105)
        .put_pointer("cred", cred);
    bytes
        .put_array("tasks_to_launch", 2, &[2, 3])
        .put_array("global_task_ids", 8, lists);
    bytes
}

/// What the check says of a request that `change` changed.
fn check_launch(
    variant: &Variant,
    node: &str,
    node_id: u32,
    change: impl FnOnce(&mut Bytes),
) -> Result<u32, String> {
    let ids = [vec![0u32, 1], vec![2, 3, 4]];
    let lists = [0, 1].map(|node: usize| ids[node].as_ptr().expose_provenance() as u64);
    let mut arguments = Bytes::new(variant, "slurm_cred_arg_t");
    arguments
        .put("job_nhosts", 3)
        .put_text("job_hostlist", "a,b,c");
    let cred = [arguments.base()];
    let mut bytes = sound_launch(variant, &lists, cred.as_ptr().cast());
    change(&mut bytes);
    // SAFETY: the test keeps the record longer than the view.
    let request =
        unsafe { LaunchRequest::from_raw(bytes.base(), variant.layout, fakes::symbols()) }.unwrap();
    let text = |why: Doubt| why.to_string();
    let result = launch_is_sane(&request, node_id, node).map_err(text);
    // What is not a wild pointer is found either way.
    if !matches!(&result, Err(text) if text.contains("where no") && !text.contains(" at 0x0,")) {
        assert_eq!(
            launch_is_still_sane(&request, node_id, node).map_err(text),
            result
        );
    }
    assert_eq!(fakes::LOCKED.get(), 0);
    result
}

#[test]
fn a_sound_request_gives_the_node_s_place_in_the_job() {
    for variant in variants() {
        assert_eq!(
            check_launch(&variant, "c", 1, |_| ()),
            Ok(2),
            "{}",
            variant.name()
        );
        assert_eq!(
            check_launch(&variant, "a", 0, |_| ()),
            Ok(0),
            "{}",
            variant.name()
        );
    }
}

#[test]
fn unsound_requests_are_told_in_words() {
    for variant in &variants() {
        let says = |part: &str, node_id: u32, change: &dyn Fn(&mut Bytes)| {
            let text = check_launch(variant, "c", node_id, change).unwrap_err();
            assert!(
                text.contains(part) && text.contains("launch request: found"),
                "{}: {text}\nlacks {part}",
                variant.name()
            );
        };
        says("2 nodes, expected a step with a node number 2", 2, &|_| ());
        says("4294967295 nodes", 1, &|bytes| {
            bytes.put("nnodes", 0xffff_ffff);
        });
        says("the task counts at 0x8", 1, &|bytes| {
            bytes.put("tasks_to_launch", 8);
        });
        says("0 tasks here, expected 1 to 5", 1, &|bytes| {
            bytes.put_array("tasks_to_launch", 2, &[5, 0]);
        });
        says("6 tasks here, expected 1 to 5", 1, &|bytes| {
            bytes.put_array("tasks_to_launch", 2, &[5, 6]);
        });
        says("the lists of task ids at 0x0", 1, &|bytes| {
            bytes.put("global_task_ids", 0);
        });
        says("this node's task ids at 0x77", 1, &|bytes| {
            bytes.put_array("global_task_ids", 8, &[0, 0x77]);
        });
        says("task id 4, expected ids below 4", 1, &|bytes| {
            bytes.put("ntasks", 4);
        });
        says("the credential at 0x0", 1, &|bytes| {
            bytes.put("cred", 0);
        });
        let text = check_launch(variant, "z", 1, |_| ()).unwrap_err();
        assert!(
            text.contains("node z is not in the job's host list") && text.contains("a,b,c"),
            "{text}"
        );
    }
}
