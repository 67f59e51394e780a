//! Who gets into a pool where Slurm has its accounting.

use berth_tests::{accounting, skip};

#[test]
fn a_user_s_associations_say_which_pools_he_can_get_into() {
    match accounting::can_be_had() {
        true => accounting::play(),
        false => skip("slurmdbd or mariadbd is not installed"),
    }
}
