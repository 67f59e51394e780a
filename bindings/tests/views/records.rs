//! Step record, slurmd's and Slurm's settings of every release, through the views.

use crate::common::{Bytes, STEP, Variant, fakes, set, slurm_conf, step, variants};
use slurm_sys::{Counting, Line, StepKind, TaskInfo};

#[test]
fn a_step_tells_its_kind_and_its_environment() {
    for variant in variants() {
        let mut bytes = Bytes::new(&variant, STEP);
        let mut kind = |constant: &str| {
            bytes.put_step_id("step_id", (1, variant.constant(constant), 0));
            let view = step(&mut bytes, &variant);
            (view.step_id().kind, view.is_batch())
        };
        assert_eq!(kind("SLURM_BATCH_SCRIPT"), (StepKind::Batch, true));
        assert_eq!(kind("SLURM_EXTERN_CONT"), (StepKind::Extern, false));
        let interactive = (StepKind::Interactive, false);
        assert_eq!(kind("SLURM_INTERACTIVE_STEP"), interactive);
        bytes.put_pointer("env", fakes::new_env(&["A=1", "B=2"]));
        let mut view = step(&mut bytes, &variant);
        view.set_cpu_bind_type(0x2102);
        view.env().change(&set(&[("B", "3"), ("C", "4")])).unwrap();
        let values = ["A", "B", "C", "D"].map(|name| view.env().get(name, 64).unwrap_or_default());
        assert_eq!(values, ["1", "3", "4", ""]);
        assert_eq!(bytes.get("cpu_bind_type"), 0x2102);
        bytes.free_env("env");
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
        let task = view.task(1).map(|task| (task.id, task.gtid, task.pid));
        assert_eq!(task, Some((1, 5, 31337)), "{}", variant.name());
        assert_eq!(view.task(2), None);
        for words in [vec![0x8000_0000_0000_0001u64], (1..=20).collect()] {
            view.set_task_cpu_set(1, &words).unwrap();
            check_cpu_set(&tasks[1], &variant, &words);
        }
        let has_field = variant.layout.line > Line::V22_05;
        assert_eq!(view.set_task_cpu_set(2, &[1]).is_err(), has_field);
        assert_eq!(fakes::LIVE_BLOCKS.get(), i32::from(has_field));
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
fn what_slurmd_counts_is_read_from_flags_or_from_the_text() {
    for variant in variants() {
        let value = |name: &str| variant.json["constants"][name].as_u64();
        let flag = |name: &str| value(&format!("CONF_FLAG_{name}")).unwrap_or(0);
        let cases = [
            ("", 0, [false; 3]),
            (
                "config_overrides,L3Cache_as_socket",
                flag("L3CSOCK"),
                [true, false, false],
            ),
            ("numa_node_as_socket", flag("NNSOCK"), [false, true, false]),
            ("Allow_ECores", flag("ECORE") | 1, [false, false, true]),
        ];
        for (text, flags, [l3cache_as_socket, numa_node_as_socket, allow_ecores]) in cases {
            let mut bytes = Bytes::new(&variant, "slurm_conf_t");
            // Where there are flags, the text may be missing, or say less than the node's own Parameters.
            match value("CONF_FLAG_ECORE") {
                Some(_) => bytes.put("conf_flags", flags),
                None => bytes.put_text("slurmd_params", text),
            };
            let conf = slurm_conf(&mut bytes, &variant);
            let wanted = Counting {
                l3cache_as_socket,
                numa_node_as_socket,
                allow_ecores,
            };
            let name = variant.name();
            assert_eq!(conf.counting(fakes::symbols()), wanted, "{name} {text}");
        }
    }
}

#[test]
fn slurm_keeps_a_task_in_a_cgroup_of_its_own() {
    for variant in variants() {
        let mut bytes = Bytes::new(&variant, STEP);
        let base = bytes.base() as usize;
        let view = step(&mut bytes, &variant);
        let task = |pid| TaskInfo {
            id: 1,
            gtid: 7,
            pid,
        };
        // SAFETY: the fake function looks at nothing.
        let added = unsafe { view.add_to_cgroup(task(42)) };
        assert_eq!(
            (added, fakes::ADDED.take()),
            (Ok(()), Some((1, base, 42, 7)))
        );
        // SAFETY: the same.
        let failed = unsafe { view.add_to_cgroup(task(1)) }.unwrap_err();
        assert!(
            failed.to_string().contains("cgroup_g_task_addto"),
            "{failed}"
        );
    }
}
