//! Launch and batch requests of every release, read and changed through the views.

mod common;

use common::{Bytes, Variant, fakes, variants};
use slurm_sys::views::{Change, SpankOption};
use slurm_sys::{CoreSpec, Error, LaunchRequest, StepKind};
use std::ffi::{c_char, c_void};

/// More than any text here has.
const LIMIT: usize = 64;
const LAUNCH: &str = "launch_tasks_request_msg_t";

fn launch<'a>(bytes: &mut Bytes, variant: &Variant) -> LaunchRequest<'a> {
    // SAFETY: the test keeps the record longer than the view.
    unsafe { LaunchRequest::from_raw(bytes.base(), variant.layout, fakes::symbols()) }.unwrap()
}

#[test]
fn how_a_launch_binds_gpus() {
    for variant in variants() {
        let mut bytes = Bytes::new(&variant, LAUNCH);
        bytes.put("accel_bind_type", 0x0a).put("flags", 0x200);
        bytes.put_text("tres_bind", &"gpu:map_gpu:0,1".repeat(2));
        let request = launch(&mut bytes, &variant);
        let name = variant.name();
        assert_eq!(request.accel_bind_type(), 0x0a, "{name}");
        let is_named = !["22.05", "23.02"].contains(&variant.json["line"].as_str().unwrap());
        assert_eq!(request.shares_gres(), is_named, "{name}");
        assert!(request.tres_bind(30).is_ok(), "{name}");
        assert!(request.tres_bind(29).is_err(), "{name}: it is not copied");
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "one record, field by field")]
fn every_number_and_text_of_a_launch_request_is_read_where_the_release_has_it() {
    for variant in variants() {
        let mut bytes = Bytes::new(&variant, LAUNCH);
        let numbers = [
            ("nnodes", 3),
            ("ntasks", 12),
            ("cpus_per_task", 5),
            ("threads_per_core", 2),
            ("ntasks_per_core", 7),
            ("ntasks_per_socket", 9),
            ("task_dist", 0x1234_5678),
            ("flags", 0x00ff_00c0),
            ("cpu_bind_type", 0x2103),
            ("mem_bind_type", 0x0029),
            ("accel_bind_type", 0x2),
            ("node_cpus", 77),
            ("job_core_spec", 0x8003),
        ];
        for (field, value) in numbers {
            bytes.put(field, value);
        }
        let texts = [
            ("cpu_bind", "0x3,0xC"),
            ("mem_bind", "0,1"),
            ("complete_nodelist", "n[1-3]"),
            ("tres_bind", "gpu:closest"),
        ];
        for (field, text) in texts {
            bytes.put_text(field, text);
        }
        bytes.put_step_id("step_id", (4711, 6, 2));
        let request = launch(&mut bytes, &variant);
        let name = variant.name();
        assert_eq!(
            (request.nnodes(), request.ntasks(), request.cpus_per_task()),
            (3, 12, 5),
            "{name}"
        );
        assert_eq!(request.threads_per_core(), Some(2), "{name}");
        assert_eq!(
            (request.ntasks_per_core(), request.ntasks_per_socket()),
            (Some(7), Some(9)),
            "{name}"
        );
        assert_eq!(
            (request.task_dist(), request.flags()),
            (0x1234_5678, 0x00ff_00c0),
            "{name}"
        );
        assert_eq!(
            (
                request.cpu_bind_type(),
                request.mem_bind_type(),
                request.node_cpus()
            ),
            (0x2103, 0x29, 77),
            "{name}"
        );
        assert_eq!(
            request.job_core_spec(),
            Some(CoreSpec::Threads(3)),
            "{name}"
        );
        assert_eq!(
            request.cpu_bind(LIMIT).unwrap().as_deref(),
            Some("0x3,0xC"),
            "{name}"
        );
        assert_eq!(
            request.mem_bind(LIMIT).unwrap().as_deref(),
            Some("0,1"),
            "{name}"
        );
        assert_eq!(
            request.complete_nodelist().as_deref(),
            Some("n[1-3]"),
            "{name}"
        );
        assert_eq!(
            (
                request.tres_bind(LIMIT).unwrap().as_deref(),
                request.accel_bind_type()
            ),
            (Some("gpu:closest"), 0x2),
            "{name}"
        );
        let id = request.step_id();
        assert_eq!(
            (id.job_id, id.step_id, id.het_component, id.kind),
            (4711, 6, Some(2), StepKind::Regular),
            "{name}"
        );
        assert!(request.overcommit() && request.no_alloc(), "{name}");
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "one record, field by field")]
fn not_given_arrives_as_nothing() {
    for variant in variants() {
        let mut bytes = Bytes::new(&variant, LAUNCH);
        for raw in [0, 0xfffe, 0xffff] {
            bytes
                .put("threads_per_core", raw)
                .put("ntasks_per_core", raw)
                .put("ntasks_per_socket", raw);
            let request = launch(&mut bytes, &variant);
            assert_eq!(
                (
                    request.threads_per_core(),
                    request.ntasks_per_core(),
                    request.ntasks_per_socket()
                ),
                (None, None, None)
            );
        }
        bytes.put_step_id(
            "step_id",
            (
                1,
                variant.constant("SLURM_INTERACTIVE_STEP"),
                variant.constant("NO_VAL"),
            ),
        );
        for (raw, spec) in [
            (0xfffe, None),
            (0xffff, None),
            (0, Some(CoreSpec::Cores(0))),
            (4, Some(CoreSpec::Cores(4))),
        ] {
            bytes.put("job_core_spec", raw);
            assert_eq!(launch(&mut bytes, &variant).job_core_spec(), spec);
        }
        let request = launch(&mut bytes, &variant);
        assert_eq!(
            (request.step_id().het_component, request.step_id().kind),
            (None, StepKind::Interactive)
        );
        assert_eq!(
            (
                request.cpu_bind(LIMIT).unwrap(),
                request.mem_bind(LIMIT).unwrap(),
                request.complete_nodelist()
            ),
            (None, None, None)
        );
        assert_eq!(
            (
                request.env_get("PATH", LIMIT),
                request.options("berth", LIMIT).unwrap().len()
            ),
            (None, 0)
        );
        assert!(!request.overcommit() && !request.no_alloc() && !request.external_launcher());
        assert_eq!(
            (request.tasks_here(0), request.global_task_ids(0)),
            (None, None)
        );
        assert!(matches!(request.cred().err(), Some(Error::Absent { .. })));
    }
}

#[test]
fn the_external_launcher_bit_counts_only_where_the_release_has_it() {
    for variant in variants() {
        let mut bytes = Bytes::new(&variant, LAUNCH);
        bytes.put("flags", 32);
        let known = !variant.json["constants"]["LAUNCH_EXT_LAUNCHER"].is_null();
        assert_eq!(
            launch(&mut bytes, &variant).external_launcher(),
            known,
            "{}",
            variant.name()
        );
    }
}

#[test]
fn tasks_and_their_ids_stay_inside_the_step_s_nodes() {
    for variant in variants() {
        let ids: [Vec<u32>; 3] = [vec![0, 3], vec![1, 4, 6], vec![2]];
        let pointers: Vec<u64> = ids
            .iter()
            .map(|list| list.as_ptr().expose_provenance() as u64)
            .collect();
        let mut bytes = Bytes::new(&variant, LAUNCH);
        bytes
            .put("nnodes", 3)
            .put_array("tasks_to_launch", 2, &[2, 3, 1])
            .put_array("global_task_ids", 8, &pointers);
        let request = launch(&mut bytes, &variant);
        assert_eq!(
            (
                request.tasks_here(0),
                request.tasks_here(1),
                request.tasks_here(2)
            ),
            (Some(2), Some(3), Some(1))
        );
        assert_eq!(request.global_task_ids(1), Some(vec![1, 4, 6]));
        assert_eq!(
            (request.tasks_here(3), request.global_task_ids(3)),
            (None, None)
        );
    }
}

#[test]
fn a_new_binding_replaces_text_and_bits_and_leaks_nothing() {
    for variant in variants() {
        let mut bytes = Bytes::new(&variant, LAUNCH);
        bytes
            .put("cpu_bind_type", 0xffff)
            .put_owned_text("cpu_bind", "cores")
            .put_owned_text("mem_bind", "0");
        let mut request = launch(&mut bytes, &variant);
        request.set_cpu_bind(0x0101, Some("0x00FF,0xFF00")).unwrap();
        request.set_mem_bind(0x10, Some("0x1")).unwrap();
        request.set_cpus_per_task(3);
        assert_eq!(
            request.cpu_bind(LIMIT).unwrap().as_deref(),
            Some("0x00FF,0xFF00")
        );
        assert_eq!(
            (
                bytes.get("cpu_bind_type"),
                bytes.get("cpus_per_task"),
                bytes.get("mem_bind_type")
            ),
            (0x0101, 3, 0x10)
        );
        assert_eq!(
            (
                bytes.text_at("cpu_bind").as_deref(),
                bytes.text_at("mem_bind").as_deref()
            ),
            (Some("0x00FF,0xFF00"), Some("0x1"))
        );
        assert_eq!(fakes::LIVE_BLOCKS.get(), 2);
        let mut request = launch(&mut bytes, &variant);
        assert_eq!(
            request.set_cpu_bind(1, Some("a\0b")),
            Err(Error::NotAText("a\0b".into()))
        );
        assert_eq!(request.cpu_bind_type(), 0x0101);
        request.set_cpu_bind(0, None).unwrap();
        request.set_mem_bind(0, None).unwrap();
        assert_eq!((bytes.get("cpu_bind"), fakes::LIVE_BLOCKS.get()), (0, 0));
    }
}

#[test]
fn options_of_all_spank_plugins_are_listed() {
    for variant in variants() {
        let item = |kind: u64, option: &str, argument: Option<&str>| {
            let mut item = Bytes::new(&variant, "job_option_info_t");
            item.put("type", kind).put_text("option", option);
            argument.map(|argument| item.put_text("optarg", argument).base());
            item
        };
        let long = format!("{}:berth", "x".repeat(300));
        let mut items = [
            item(0x4400, "binding:berth", Some("linear:2")),
            item(0x4401, "other:berth", None),
            item(0x4400, "no-plugin", None),
            item(0x4400, "flag:auks", None),
            item(0x4400, "flag:berth", None),
            item(0x4400, &long, Some("x")),
        ];
        let list: Vec<*mut c_void> = items
            .iter_mut()
            .map(Bytes::base)
            .chain([std::ptr::null_mut()])
            .collect();
        let mut bytes = Bytes::new(&variant, LAUNCH);
        bytes.put_pointer("options", &raw const list);
        let option = |option: &str, argument: Option<&str>| SpankOption {
            option: option.into(),
            argument: argument.map(str::to_owned),
        };
        let expected = vec![option("binding", Some("linear:2")), option("flag", None)];
        assert_eq!(
            launch(&mut bytes, &variant)
                .options("berth", LIMIT)
                .unwrap(),
            expected,
            "{}",
            variant.name()
        );
    }
}

#[test]
fn null_is_no_view_and_a_missing_function_is_named() {
    let variants = variants();
    let layout = variants[0].layout;
    // SAFETY: null, and no address at all.
    let (nothing, symbols) = unsafe {
        (
            LaunchRequest::from_raw(std::ptr::null_mut(), layout, fakes::symbols()).is_none(),
            slurm_sys::Symbols::from_addresses(slurm_sys::symbols::Addresses::default()),
        )
    };
    assert!(nothing);
    let mut bytes = Bytes::new(&variants[0], LAUNCH);
    let list: Vec<*mut c_void> = Vec::new();
    let cred: *mut c_char = std::ptr::dangling_mut();
    bytes
        .put_pointer("options", &raw const list)
        .put_pointer("cred", cred);
    // SAFETY: the test keeps the record longer than the view.
    let mut request = unsafe { LaunchRequest::from_raw(bytes.base(), layout, &symbols) }.unwrap();
    assert_eq!(
        request.set_cpu_bind(1, Some("x")),
        Err(Error::MissingSymbol("slurm_xcalloc"))
    );
    assert_eq!(
        request.env_change(&Change {
            prefix: "",
            remove: &[],
            remove_others: |_| Vec::new(),
            set: &[("A", "b")],
            reserve: &[],
        }),
        Err(Error::MissingSymbol("slurm_xcalloc"))
    );
    assert_eq!(
        request.options("berth", LIMIT).err(),
        Some(Error::MissingSymbol("slurm_list_for_each"))
    );
    assert_eq!(
        request.cred().err(),
        Some(Error::MissingSymbol("slurm_cred_get_args"))
    );
}
