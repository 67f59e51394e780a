//! Launch and batch requests of every release, read and changed through the views.

use crate::common::{Bytes, LAUNCH, LIMIT, fakes, launch, set, variants};
use slurm_sys::views::SpankOption;
use slurm_sys::{Error, LaunchRequest};
use std::ffi::{c_char, c_void};

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
        let tasks = [0, 1, 2, 3].map(|node| request.tasks_here(node));
        assert_eq!(tasks, [Some(2), Some(3), Some(1), None]);
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
        let numbers = ["cpu_bind_type", "cpus_per_task", "mem_bind_type"];
        assert_eq!(numbers.map(|field| bytes.get(field)), [0x0101, 3, 0x10]);
        let texts = ["cpu_bind", "mem_bind"].map(|field| bytes.text_at(field).unwrap());
        assert_eq!(texts, ["0x00FF,0xFF00", "0x1"]);
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
        request.env().change(&set(&[("A", "b")])),
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
