//! The tasks' environment in launch and batch requests, searched and changed through the views.

use crate::common::{
    self, BATCH, Bytes, LAUNCH, LIMIT, STEP, Variant, batch, fakes, launch, step, variants,
};
use std::ffi::CStr;

use slurm_sys::Error;
use slurm_sys::views::{Change, Environment, TaskEnvironment};

/// A variable of a launch or a batch request, after it was set to a value where one is given.
fn set_and_get(
    bytes: &mut Bytes,
    variant: &Variant,
    name: &str,
    value: Option<&str>,
) -> Option<String> {
    let env = match bytes.record {
        LAUNCH => launch(bytes, variant).env(),
        _ => batch(bytes, variant).env(),
    };
    if let Some(value) = value {
        env.change(&common::set(&[(name, value)])).unwrap();
    }
    env.get(name, LIMIT)
}

#[test]
fn the_environment_is_searched_by_whole_names_and_counted_anew() {
    for variant in variants() {
        for (record, field) in [(LAUNCH, "env"), (BATCH, "environment")] {
            let mut bytes = Bytes::new(&variant, record);
            let env = fakes::new_env(&["PATHS=no", "PATH=/bin:/usr/bin", "EMPTY=", "BROKEN"]);
            bytes.put_pointer(field, env).put("envc", 4);
            let mut at = |name, value| set_and_get(&mut bytes, &variant, name, value);
            assert_eq!(at("PATH", None).as_deref(), Some("/bin:/usr/bin"));
            assert_eq!(at("EMPTY", None).as_deref(), Some(""));
            assert_eq!(at("BROKEN", None), None);
            assert_eq!(at("BERTH_CPUS", Some("0-3")).as_deref(), Some("0-3"));
            assert_eq!(at("PATH", Some("/opt")).as_deref(), Some("/opt"));
            assert_eq!(bytes.get("envc"), 5);
            bytes.put("envc", 1);
            let beyond = set_and_get(&mut bytes, &variant, "PATH", None);
            assert_eq!(beyond, None, "the search ends with the count");
            bytes.free_env(field);
        }
    }
}

#[test]
fn several_variables_are_set_with_one_move_and_nothing_is_lost() {
    for variant in variants() {
        let mut bytes = Bytes::new(&variant, LAUNCH);
        let env = fakes::new_env(&["PATHS=no", "PATH=/bin", "PATH=second"]);
        bytes.put_pointer("env", env).put("envc", 3);
        let mut request = launch(&mut bytes, &variant);
        let view = request.env();
        let wrong = view.change(&common::set(&[("NEW", "1"), ("PATH", "a\0b")]));
        assert!(matches!(wrong, Err(Error::NotAText(_))), "{wrong:?}");
        assert_eq!(view.get("NEW", LIMIT), None, "an error changes nothing");
        view.change(&common::set(&[
            ("NEW", "1"),
            ("PATH", "/opt"),
            ("EMPTY", ""),
        ]))
        .unwrap();
        let values = ["PATHS", "PATH", "NEW", "EMPTY"].map(|name| view.get(name, LIMIT));
        let expected = ["no", "/opt", "1", ""].map(|value| Some(value.to_owned()));
        assert_eq!(values, expected);
        // Written where it stays.
        request
            .write_cpu_bind(1, 4, |text| text[1..3].copy_from_slice(b"x1"))
            .unwrap();
        assert_eq!(request.cpu_bind(LIMIT).unwrap().as_deref(), Some("0x10"));
        request.set_cpu_bind(0, None).unwrap();
        assert_eq!(bytes.get("envc"), 4, "the second PATH went with the first");
        bytes.free_env("env");
    }
}

#[test]
fn names_that_no_environment_holds_are_refused() {
    let variants = variants();
    let mut bytes = Bytes::new(&variants[0], LAUNCH);
    let request = launch(&mut bytes, &variants[0]).env();
    for (name, value) in [("", "x"), ("A=B", "x"), ("A", "x\0y")] {
        assert!(
            matches!(
                request.change(&common::set(&[(name, value)])),
                Err(Error::NotAText(_))
            ),
            "{name:?}"
        );
    }
    assert_eq!(bytes.get("env"), 0);
}

#[test]
fn what_a_user_left_goes_and_room_is_filled_without_the_allocator() {
    for variant in variants() {
        let mut bytes = Bytes::new(&variant, STEP);
        let entries = [
            "BERTH_NOTE=forged",
            "CUDA_VISIBLE_DEVICES=1,0",
            "BERTH_CUDA_VISIBLE_DEVICES=mine",
            "PATH=/bin",
            "BERTH_NOTES=off",
            "BERTH_NOTE=twice",
            "NOTE=mine",
        ];
        bytes.put_pointer("env", fakes::new_env(&entries));
        let view = step(&mut bytes, &variant).env();
        let change = Change {
            prefix: "BERTH_",
            remove: &["NOTE", "HANDOVER"],
            remove_others: |get| match get("BERTH_NOTE", LIMIT).as_deref() {
                Some("forged") => vec!["CUDA_VISIBLE_DEVICES"],
                _ => Vec::new(),
            },
            set: &[("BERTH_BOUND", "1")],
            reserve: &[("BERTH_CPUS", 5)],
        };
        view.change(&change).unwrap();
        let get = |view: &Environment<'_>, name| view.get(name, LIMIT).unwrap_or_default();
        assert_eq!(view.get("BERTH_NOTE", LIMIT), None);
        assert_eq!(view.get("CUDA_VISIBLE_DEVICES", LIMIT), None);
        assert_eq!(get(&view, "BERTH_CUDA_VISIBLE_DEVICES"), "mine");
        assert_eq!(
            ["PATH", "BERTH_NOTES", "NOTE", "BERTH_BOUND", "BERTH_CPUS"].map(|it| get(&view, it)),
            ["/bin", "off", "mine", "1", "     "]
        );
        let before = fakes::LIVE_BLOCKS.get();
        assert!(!view.fill("BERTH_CPUS", "0-3,80"), "no room for it");
        assert!(view.fill("BERTH_CPUS", "0-3,8"));
        assert_eq!(get(&view, "BERTH_CPUS"), "0-3,8");
        assert!(view.fill("BERTH_CPUS", ""));
        assert_eq!(view.get("BERTH_CPUS", LIMIT).as_deref(), Some(""));
        assert!(
            !view.fill("BERTH_CPUS", "0"),
            "what has no value now has no room"
        );
        assert!(!view.fill("BERTH_CORES", ""), "nobody made room");
        assert_eq!(fakes::LIVE_BLOCKS.get(), before);
        bytes.free_env("env");
    }
}

#[test]
fn a_tasks_own_environment_is_filled_where_no_record_is_read() {
    let env = fakes::new_env(&["BERTH_CPU=x", "BERTH_CPUS=     ", "HOME=/"]);
    // SAFETY: the test's own array, which it keeps longer than the view.
    let mut own = unsafe { TaskEnvironment::from_raw(env.cast_const()) }.unwrap();
    let before = fakes::LIVE_BLOCKS.get();
    assert!(own.fill("BERTH_CPUS", "0-3"));
    assert!(
        !own.fill("BERTH_CPUS", "0-31"),
        "longer than what stands there"
    );
    assert!(!own.fill("BERTH_CORES", ""), "nobody made room");
    assert!(!own.fill("BERTH_CPU", "\0"), "a value ends at its NUL");
    assert_eq!(fakes::LIVE_BLOCKS.get(), before);
    // SAFETY: the same array.
    let second = unsafe { CStr::from_ptr(*env.add(1)) };
    assert_eq!(second, c"BERTH_CPUS=0-3");
    fakes::free_env(env);
    // SAFETY: null is allowed.
    assert!(unsafe { TaskEnvironment::from_raw(std::ptr::null()) }.is_none());
}
