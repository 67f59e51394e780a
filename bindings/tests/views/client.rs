//! What a client other than srun may send: bits that do not exist, texts without end.

use crate::common::{BATCH, Bytes, LAUNCH, LIMIT, STEP, batch, fakes, launch, step, variants};

use slurm_sys::Error;
use slurm_sys::views::Change;
use std::ffi::c_void;

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
    assert_eq!(view.env().get("LONG", LIMIT), None);
    assert_eq!(
        view.env().get("LONG", LIMIT + 1).map(|it| it.len()),
        Some(65)
    );
    let told = view.cpu_bind(LIMIT).unwrap_err().to_string();
    assert!(told.contains("longer than 64 bytes"), "{told}");
    view.set_cpu_bind(0, None).unwrap();
    bytes.free_env("env");
}

/// Names that are gone after a change.
const GONE: Change<'_> = Change {
    prefix: "A",
    remove: &[""],
    remove_others: |_| Vec::new(),
    set: &[],
    reserve: &[],
};

fn too_many(what: &'static str, limit: usize) -> Error {
    Error::TooMany { what, limit }
}

#[test]
fn more_variables_than_anybody_has_are_neither_searched_nor_changed() {
    let variants = variants();
    let variant = &variants[0];
    let most = 1 << 16;
    for (count, is_read) in [(most, true), (most + 1, false)] {
        let mut entries = vec!["A=x"; count - 1];
        entries.push("LAST=found");
        let found = is_read.then(|| "found".to_owned());
        let told = match is_read {
            true => Ok(()),
            false => Err(too_many("environment variables", most)),
        };
        let mut bytes = Bytes::new(variant, LAUNCH);
        bytes.put_pointer("env", fakes::new_env(&entries));
        bytes.put("envc", count as u64);
        let env = launch(&mut bytes, variant).env();
        assert_eq!(env.get("LAST", LIMIT), found);
        assert_eq!(env.is_within_bounds(), told);
        assert_eq!(env.change(&GONE), told);
        let left = if is_read { 1 } else { count as u64 };
        assert_eq!(bytes.get("envc"), left);
        bytes.free_env("env");
        let mut bytes = Bytes::new(variant, BATCH);
        bytes.put_pointer("environment", fakes::new_env(&entries));
        bytes.put("envc", count as u64);
        let env = batch(&mut bytes, variant).env();
        assert_eq!(env.beginning("LAST", LIMIT), found);
        assert_eq!(env.is_within_bounds(), told);
        assert_eq!(env.change(&GONE), told);
        bytes.free_env("environment");
    }
}

/// slurmstepd has more variables than its user sent, and no number of them.
#[test]
fn a_step_has_room_for_slurms_own_variables() {
    let variants = variants();
    let variant = &variants[0];
    let most = 1 << 16;
    for (count, is_users, is_read) in [
        (most, true, true),
        (2 * most, false, true),
        (2 * most + 1, false, false),
    ] {
        let mut entries = vec!["A=x"; count - 1];
        entries.push("LAST=found");
        let mut bytes = Bytes::new(variant, STEP);
        bytes.put_pointer("env", fakes::new_env(&entries));
        let env = step(&mut bytes, variant).env();
        assert_eq!(env.has("LAST"), is_read, "{count}");
        assert_eq!(env.is_within_bounds().is_ok(), is_users, "{count}");
        assert_eq!(env.change(&GONE).is_ok(), is_read, "{count}");
        bytes.free_env("env");
    }
}

#[test]
fn options_beyond_those_of_any_srun_are_not_looked_at() {
    let variants = variants();
    let variant = &variants[0];
    let item = |option: &str| {
        let mut item = Bytes::new(variant, "job_option_info_t");
        item.put("type", 0x4400).put_text("option", option);
        item
    };
    let (mut other, mut ours) = (item("flag:auks"), item("flag:berth"));
    let mut read = |others: usize, own: usize| {
        let mut list: Vec<*mut c_void> = vec![other.base(); others];
        list.resize(others + own, ours.base());
        let mut bytes = Bytes::new(variant, LAUNCH);
        bytes.put_pointer("options", &raw const list);
        let found = launch(&mut bytes, variant).options("berth", LIMIT);
        found.map(|found| found.len())
    };
    assert_eq!(read(1023, 1), Ok(1));
    assert_eq!(read(1024, 1), Err(too_many("SPANK options", 1024)));
    assert_eq!(read(0, 64), Ok(64));
    assert_eq!(
        read(0, 65),
        Err(too_many("options of one SPANK plugin", 64))
    );
}
