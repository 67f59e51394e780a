//! Credential, step record, slurmd's and Slurm's settings of every release, through the views.

mod common;

use common::{Bytes, Variant, fakes, variants};
use slurm_sys::{
    CoreSpec, Credential, Error, Line, NodeCores, SlurmConf, SlurmdConf, StepKind, StepRecord,
    TaskInfo,
};
use std::ffi::c_void;

/// Calls `check` with a locked credential whose arguments are `bytes`.
fn with_cred<R>(bytes: &mut Bytes, variant: &Variant, check: impl FnOnce(&Credential) -> R) -> R {
    let mut arguments = bytes.base();
    // SAFETY: the fakes take a pointer to the arguments for a credential.
    let cred = unsafe {
        Credential::lock(
            (&raw mut arguments).cast(),
            variant.layout,
            fakes::symbols(),
        )
    }
    .unwrap();
    assert_eq!(fakes::LOCKED.get(), 1);
    let result = check(&cred);
    drop(cred);
    assert_eq!(fakes::LOCKED.get(), 0, "unlocked on drop");
    result
}

/// Two nodes of 2x4 cores, three of 1x40, one of 4x2.
fn uneven<'v>(variant: &'v Variant) -> Bytes<'v> {
    let mut bytes = Bytes::new(variant, "slurm_cred_arg_t");
    bytes
        .put("core_array_size", 3)
        .put("job_nhosts", 6)
        .put("job_core_spec", 2);
    bytes
        .put_array("sockets_per_node", 2, &[2, 1, 4])
        .put_array("cores_per_socket", 2, &[4, 40, 2]);
    bytes
        .put_array("sock_core_rep_count", 4, &[2, 3, 1])
        .put_text("job_hostlist", "a,b,c,d,e,f");
    bytes
}

/// Slurm's bit string with these bits set.
fn bit_string(length: u64, set: &[usize]) -> Vec<u64> {
    let mut words = vec![0u64; 2 + length.div_ceil(64) as usize];
    (words[0], words[1]) = (0x4243_4445, length);
    for bit in set {
        words[2 + bit / 64] |= 1 << (bit % 64);
    }
    words
}

#[test]
fn a_credential_gives_each_node_its_shape_and_its_cores() {
    for variant in variants() {
        let mut bytes = uneven(&variant);
        let step = [0, 7, 8, 9, 16, 55, 56, 63, 64, 95, 96, 135, 136, 143];
        bytes.put_array("step_core_bitmap", 8, &bit_string(144, &step));
        bytes.put_array("job_core_bitmap", 8, &bit_string(144, &[0, 1, 2, 143]));
        with_cred(&mut bytes, &variant, |cred| {
            let node = |name: &str| cred.node_cores(cred.node_index(name).unwrap()).unwrap();
            let steps = |name: &str| cred.step_cores(&node(name)).unwrap();
            assert_eq!(
                node("b"),
                NodeCores {
                    sockets: 2,
                    cores_per_socket: 4,
                    first_bit: 8
                }
            );
            assert_eq!(
                node("e"),
                NodeCores {
                    sockets: 1,
                    cores_per_socket: 40,
                    first_bit: 96
                }
            );
            assert_eq!(
                node("f"),
                NodeCores {
                    sockets: 4,
                    cores_per_socket: 2,
                    first_bit: 136
                }
            );
            assert_eq!((steps("a"), steps("b")), (vec![0, 7], vec![0, 1]));
            assert_eq!((steps("c"), steps("d")), (vec![0, 39], vec![0, 7, 8, 39]));
            assert_eq!((steps("e"), steps("f")), (vec![0, 39], vec![0, 7]));
            assert_eq!(cred.job_cores(&node("a")).unwrap(), [0, 1, 2]);
            assert_eq!(cred.job_cores(&node("f")).unwrap(), [7]);
            assert_eq!(
                (cred.job_nhosts(), cred.job_core_spec()),
                (6, Some(CoreSpec::Cores(2)))
            );
            assert_eq!(cred.job_hostlist().as_deref(), Some("a,b,c,d,e,f"));
        });
    }
}

#[test]
fn a_credential_that_contradicts_itself_is_an_error_and_no_crash() {
    for variant in variants() {
        let nonsense = |change: &dyn Fn(&mut Bytes)| {
            let mut bytes = uneven(&variant);
            bytes.put_array("step_core_bitmap", 8, &bit_string(144, &[0]));
            change(&mut bytes);
            with_cred(&mut bytes, &variant, |cred| {
                cred.node_cores(5).and_then(|node| cred.step_cores(&node))
            })
            .unwrap_err()
        };
        let is_nonsense = |error: Error| matches!(error, Error::Nonsense { .. });
        assert!(is_nonsense(nonsense(&|bytes| {
            bytes.put("core_array_size", 2);
        })));
        assert!(is_nonsense(nonsense(&|bytes| {
            bytes.put("core_array_size", 0);
        })));
        assert!(is_nonsense(nonsense(&|bytes| {
            bytes.put("sockets_per_node", 0);
        })));
        assert!(is_nonsense(nonsense(&|bytes| {
            bytes.put_array("cores_per_socket", 2, &[4, 0, 2]);
        })));
        assert!(is_nonsense(nonsense(&|bytes| {
            bytes.put_array("step_core_bitmap", 8, &bit_string(143, &[0]));
        })));
        assert!(is_nonsense(nonsense(&|bytes| {
            bytes.put_array("step_core_bitmap", 8, &[7, 144, 0, 0, 0]);
        })));
        assert!(is_nonsense(nonsense(&|bytes| {
            bytes.put_array("step_core_bitmap", 8, &[0x4243_4445, u64::MAX]);
        })));
        assert!(matches!(
            nonsense(&|bytes| {
                bytes.put("step_core_bitmap", 0);
            }),
            Error::Absent { .. }
        ));
    }
}

#[test]
fn a_node_outside_the_host_list_is_named_with_the_list() {
    let variants = variants();
    let mut bytes = uneven(&variants[0]);
    let error = with_cred(&mut bytes, &variants[0], |cred| {
        cred.node_index("z").unwrap_err()
    });
    assert!(
        error.to_string().contains("node z") && error.to_string().contains("a,b,c,d,e,f"),
        "{error}"
    );
    bytes.put("job_nhosts", 3);
    assert!(
        with_cred(&mut bytes, &variants[0], |cred| cred
            .node_index("d")
            .is_err()),
        "index beyond job_nhosts"
    );
}

#[test]
fn a_credential_without_arguments_is_unlocked_again() {
    let variants = variants();
    let mut nothing: *mut c_void = std::ptr::null_mut();
    // SAFETY: the fakes take a pointer to the arguments for a credential.
    let cred = unsafe {
        Credential::lock(
            (&raw mut nothing).cast(),
            variants[0].layout,
            fakes::symbols(),
        )
    };
    assert!(cred.is_err());
    assert_eq!((fakes::LOCKS.get(), fakes::LOCKED.get()), (1, 0));
}

const STEP: &str = "stepd_step_rec_t";

fn step<'a>(bytes: &mut Bytes, variant: &Variant) -> StepRecord<'a> {
    // SAFETY: the test keeps the record longer than the view.
    unsafe { StepRecord::from_raw(bytes.base(), variant.layout, fakes::symbols()) }.unwrap()
}

#[test]
fn a_step_record_is_read_where_the_release_has_it() {
    for variant in variants() {
        let mut bytes = Bytes::new(&variant, STEP);
        let numbers = [
            ("node_tasks", 2),
            ("ntasks", 9),
            ("nodeid", 4),
            ("cpu_bind_type", 0x0001_0101),
            ("mem_bind_type", 0x0002_0020),
            ("cpus", 48),
            ("uid", 1001),
            ("gid", 2002),
            ("flags", 0x8000_0080),
        ];
        for (field, value) in numbers {
            bytes.put(field, value);
        }
        for field in [
            "node_name",
            "cpu_bind",
            "mem_bind",
            "job_alloc_cores",
            "step_alloc_cores",
        ] {
            bytes.put_text(field, &format!("this is {field}"));
        }
        bytes.put_step_id("step_id", (12, 3, variant.constant("NO_VAL")));
        let mut child = Bytes::new(&variant, "env_t");
        child
            .put("procid", 8)
            .put("localid", 1)
            .put("task_pid", 4242);
        bytes.put_pointer("envtp", child.base());
        let view = step(&mut bytes, &variant);
        let name = variant.name();
        assert_eq!(
            (view.node_tasks(), view.ntasks(), view.nodeid(), view.cpus()),
            (2, 9, 4, 48),
            "{name}"
        );
        assert_eq!(
            (view.cpu_bind_type(), view.mem_bind_type()),
            (0x0001_0101, 0x0002_0020),
            "{name}"
        );
        assert_eq!(
            (view.uid(), view.gid(), view.flags()),
            (1001, 2002, 0x8000_0080),
            "{name}"
        );
        assert_eq!(
            view.node_name().as_deref(),
            Some("this is node_name"),
            "{name}"
        );
        assert_eq!(
            (view.cpu_bind().as_deref(), view.mem_bind().as_deref()),
            (Some("this is cpu_bind"), Some("this is mem_bind"))
        );
        assert_eq!(
            view.job_alloc_cores().as_deref(),
            Some("this is job_alloc_cores"),
            "{name}"
        );
        assert_eq!(
            view.step_alloc_cores().as_deref(),
            Some("this is step_alloc_cores"),
            "{name}"
        );
        let ids = view.child_ids().unwrap();
        assert_eq!(
            (ids.procid, ids.localid, ids.task_pid),
            (8, 1, 4242),
            "{name}"
        );
        assert_eq!(
            (view.step_id().job_id, view.step_id().kind),
            (12, StepKind::Regular),
            "{name}"
        );
        assert!(
            !view.is_batch()
                && !view.is_extern()
                && !view.is_interactive()
                && view.launch_request().is_none()
        );
    }
}

#[test]
fn a_step_tells_its_kind_its_request_and_its_environment() {
    for variant in variants() {
        let mut bytes = Bytes::new(&variant, STEP);
        let mut kind = |constant: &str| {
            bytes.put_step_id("step_id", (1, variant.constant(constant), 0));
            let view = step(&mut bytes, &variant);
            (view.is_batch(), view.is_extern(), view.is_interactive())
        };
        assert_eq!(kind("SLURM_BATCH_SCRIPT"), (true, false, false));
        assert_eq!(kind("SLURM_EXTERN_CONT"), (false, true, false));
        assert_eq!(kind("SLURM_INTERACTIVE_STEP"), (false, false, true));
        let mut request = Bytes::new(&variant, "launch_tasks_request_msg_t");
        request.put("ntasks", 77);
        bytes
            .put_pointer("msg", request.base())
            .put_pointer("env", fakes::new_env(&["A=1", "B=2"]));
        let mut view = step(&mut bytes, &variant);
        view.set_cpu_bind_type(0x2102);
        view.env_set("B", "3").unwrap();
        view.env_set("C", "4").unwrap();
        assert_eq!(view.launch_request().unwrap().ntasks(), 77);
        assert_eq!(
            [
                view.env_get("A"),
                view.env_get("B"),
                view.env_get("C"),
                view.env_get("D")
            ]
            .map(Option::unwrap_or_default),
            ["1", "3", "4", ""]
        );
        assert_eq!(bytes.get("cpu_bind_type"), 0x2102);
        fakes::free_env(std::ptr::with_exposed_provenance_mut(
            bytes.get("env") as usize
        ));
        assert_eq!(fakes::LIVE_BLOCKS.get(), 0);
    }
}

#[test]
fn tasks_are_read_and_given_their_cpu_sets_in_the_release_s_form() {
    for variant in variants() {
        let mut tasks = [
            Bytes::new(&variant, "stepd_step_task_info_t"),
            Bytes::new(&variant, "stepd_step_task_info_t"),
        ];
        tasks[1].put("id", 1).put("gtid", 5).put("pid", 31337);
        let list: Vec<u64> = tasks
            .iter_mut()
            .map(|task| task.base().expose_provenance() as u64)
            .collect();
        let mut bytes = Bytes::new(&variant, STEP);
        bytes.put("node_tasks", 2).put_array("task", 8, &list);
        let mut view = step(&mut bytes, &variant);
        assert_eq!(
            view.task(1),
            Some(TaskInfo {
                id: 1,
                gtid: 5,
                pid: 31337
            }),
            "{}",
            variant.name()
        );
        assert_eq!(view.task(2), None);
        for words in [vec![0x8000_0000_0000_0001u64], (1..=20).collect()] {
            view.set_task_cpu_set(1, &words).unwrap();
            check_cpu_set(&tasks[1], &variant, &words);
        }
        let has_field = variant.layout.line > Line::V22_05;
        assert_eq!(
            (
                view.set_task_cpu_set(2, &[1]).is_err(),
                fakes::LIVE_BLOCKS.get()
            ),
            (has_field, i32::from(has_field))
        );
        if has_field {
            assert_eq!(tasks[0].get("cpu_set"), 0);
            fakes::free(std::ptr::with_exposed_provenance_mut(
                tasks[1].get("cpu_set") as usize,
            ));
        }
    }
}

fn check_cpu_set(task: &Bytes, variant: &Variant, words: &[u64]) {
    let Some(_) = variant.field("stepd_step_task_info_t", "cpu_set") else {
        assert_eq!(variant.layout.line, Line::V22_05);
        return;
    };
    let at = std::ptr::with_exposed_provenance::<u64>(task.get("cpu_set") as usize);
    // SAFETY: a block of the fakes' that holds what is checked here.
    let held =
        |from: usize, count: usize| unsafe { std::slice::from_raw_parts(at.add(from), count) };
    if variant.layout.line >= Line::V26_05 {
        assert_eq!(
            held(0, 2),
            [words.len() as u64 * 64, words.len() as u64 * 8]
        );
        assert_eq!(held(2, words.len()), words);
    } else {
        assert_eq!(held(0, words.len()), words);
        assert!(
            held(0, 16).iter().skip(words.len()).all(|word| *word == 0),
            "1024 bits are there and clear"
        );
    }
}

#[test]
fn slurmd_s_settings_are_read_where_the_release_has_them() {
    for variant in variants() {
        let mut bytes = Bytes::new(&variant, "slurmd_conf_t");
        let numbers = [
            "cpus",
            "boards",
            "sockets",
            "cores",
            "threads",
            "actual_cpus",
            "actual_sockets",
            "actual_cores",
            "actual_threads",
        ];
        for (value, field) in numbers.iter().enumerate() {
            bytes.put(field, value as u64 + 300);
        }
        bytes
            .put("block_map_size", 4)
            .put_array("block_map", 2, &[0, 2, 1, 3])
            .put_array("block_map_inv", 2, &[0, 2, 1, 9]);
        bytes
            .put_text("node_name", "n1")
            .put_text("hostname", "host1")
            .put_text("spooldir", "/var/spool/slurmd");
        // SAFETY: the test keeps the record longer than the view.
        let conf = unsafe { SlurmdConf::from_raw(bytes.base(), variant.layout) }.unwrap();
        let found = [
            conf.cpus(),
            conf.boards(),
            conf.sockets(),
            conf.cores(),
            conf.threads(),
            conf.actual_cpus(),
            conf.actual_sockets(),
            conf.actual_cores(),
            conf.actual_threads(),
        ];
        assert_eq!(
            found,
            [300, 301, 302, 303, 304, 305, 306, 307, 308],
            "{}",
            variant.name()
        );
        assert_eq!(
            (conf.block_map(), conf.block_map_inv()),
            (Some(vec![0, 2, 1, 3]), Some(vec![0, 2, 1, 9]))
        );
        let texts = [conf.node_name(), conf.hostname(), conf.spooldir()].map(Option::unwrap);
        assert_eq!(texts, ["n1", "host1", "/var/spool/slurmd"]);
        bytes.put("block_map", 0);
        assert_eq!(conf.block_map(), None);
    }
}

#[test]
fn slurm_conf_is_read_where_the_release_has_it() {
    for variant in variants() {
        let mut bytes = Bytes::new(&variant, "slurm_conf_t");
        bytes
            .put("task_plugin_param", 0xf000_4001)
            .put("select_type_param", 0x1014)
            .put("debug_flags", 0x8000_0000_0000_0008);
        for field in [
            "task_plugin",
            "plugindir",
            "plugstack",
            "slurmd_params",
            "slurmd_spooldir",
            "cluster_name",
        ] {
            bytes.put_text(field, &format!("this is {field}"));
        }
        // SAFETY: the test keeps the record longer than the view.
        let conf = unsafe { SlurmConf::from_raw(bytes.base(), variant.layout) }.unwrap();
        assert_eq!(
            (conf.task_plugin_param(), conf.select_type_param()),
            (0xf000_4001, 0x1014),
            "{}",
            variant.name()
        );
        assert_eq!(conf.debug_flags(), 0x8000_0000_0000_0008);
        let texts = [
            conf.task_plugin(),
            conf.plugindir(),
            conf.plugstack(),
            conf.slurmd_params(),
            conf.slurmd_spooldir(),
            conf.cluster_name(),
        ];
        let expected = [
            "task_plugin",
            "plugindir",
            "plugstack",
            "slurmd_params",
            "slurmd_spooldir",
            "cluster_name",
        ]
        .map(|field| format!("this is {field}"));
        assert_eq!(texts.map(Option::unwrap), expected);
    }
}
