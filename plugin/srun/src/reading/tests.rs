//! Rules of srun that a line shows, each with the releases in which it holds.

use super::*;

#[test]
fn variables_give_way_to_options() {
    let with = |line: &[(&'static str, &'static str)], env: &[(&'static str, &'static str)]| {
        let line = line.iter();
        let line = line.map(|(name, value)| LineOption::typed(name, Some((*value).into())));
        let env = env.iter();
        let env = env.map(|(name, value)| LineOption::by_variable("X", name, value));
        read(&line.chain(env).collect::<Vec<_>>(), Release::V22_05).unwrap()
    };
    let hint = [("hint", "nomultithread")];
    let bind = with(&[("cpu-bind", "cores")], &hint);
    assert_eq!(
        (bind.cpu_bind.to_string(), bind.notes.len()),
        ("cores".into(), 1)
    );
    let bind = with(&hint, &[("cpu-bind", "cores")]);
    assert_eq!(bind.cpu_bind.to_string(), "threads,one_thread");
    let listed = with(
        &[("distribution", "block:block")],
        &[("SLURM_HOSTFILE", "hosts")],
    );
    assert!(listed.is_arbitrary());
    assert_eq!(listed.nodelist.as_deref(), Some("./hosts"));
}

proptest::proptest! {
    #![proptest_config(crate::random::config(256))]

    /// Whatever stands there, it is read or refused with a short text.
    #[test]
    fn any_value_is_read(name in "[a-z-]{1,12}", value in "[ -~é]{0,40}", at in 0..40_usize) {
        let names = ["ntasks", "nodes", "cpu-bind", "mem-bind", "distribution", "extra-node-info",
            "hint", "nodelist", "exclusive", "cpus-per-task", "tres-per-task"];
        let name = names.get(at).copied().unwrap_or(&name);
        for release in Release::ALL {
            if let Err(why) = read(&[LineOption::typed(name, Some(value.clone()))], release) {
                proptest::prop_assert!(why.to_string().len() < 600, "{}", why);
            }
        }
    }
}
