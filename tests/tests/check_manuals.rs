//! The corrected lines and scripts of the collection are accepted by the real sbatch and srun.

use berth_tests::check_manuals::ask;

#[test]
fn every_correction_is_accepted_by_the_real_commands() {
    let tried = ask();
    println!("{} corrections were accepted", tried.accepted);
    assert!(tried.notices, "a wrong option was not noticed");
    assert!(tried.refused.is_empty(), "{}", tried.refused.join("\n"));
    assert!(tried.is_good(), "only {} were tried", tried.accepted);
}
