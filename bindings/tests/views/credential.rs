//! The credential of every release: shapes, cores, and what does not fit together.

use super::fields::{of_every_release, put_all};
use super::lines::hold;
use crate::common::{Bytes, Variant, fakes, variants};
use slurm_sys::{Credential, Error};
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
    let fields = "core_array_size=3; job_nhosts=6; job_core_spec=2; sockets_per_node=list:2,1,4; \
                  cores_per_socket=list:4,40,2; job_hostlist=a,b,c,d,e,f; job_partition=debug; \
                  job_reservation=night";
    put_all(variant, &mut bytes, fields);
    bytes.put_array("sock_core_rep_count", 4, &[2, 3, 1]);
    bytes
}

/// Slurm's bit string with these bits set.
pub fn bit_string(length: u64, set: &[usize]) -> Vec<u64> {
    let mut words = vec![0u64; 2 + length.div_ceil(64) as usize];
    (words[0], words[1]) = (0x4243_4445, length);
    for bit in set {
        words[2 + bit / 64] |= 1 << (bit % 64);
    }
    words
}

/// A credential of these nodes, with cores of the step and the job.
fn whole<'v>(variant: &'v Variant) -> Bytes<'v> {
    let mut bytes = uneven(variant);
    let step = [0, 7, 8, 9, 16, 55, 56, 63, 64, 95, 96, 135, 136, 143];
    bytes.put_array("step_core_bitmap", 8, &bit_string(144, &step));
    bytes.put_array("job_core_bitmap", 8, &bit_string(144, &[0, 1, 2, 143]));
    bytes
}

/// The shape of a node, and the numbers of the cores that the step and the job have there.
fn node(cred: &Credential, name: &str) -> Result<String, Error> {
    let node = cred.node_cores(cred.node_index(name)?)?;
    let (sockets, cores, bit) = (node.sockets, node.cores_per_socket, node.first_bit);
    let (step, job) = (cred.step_cores(&node)?, cred.job_cores(&node)?);
    Ok(format!(
        "{sockets}x{cores} from bit {bit}: {step:?} {job:?}"
    ))
}

fn job(cred: &Credential) -> String {
    let words = [
        cred.job_hostlist(),
        cred.job_partition(),
        cred.job_reservation(),
        cred.job_account(),
        cred.job_qos(),
    ];
    let words = words.map(|word| word.unwrap_or("-".into())).join(" ");
    format!(
        "{} hosts {:?}: {words}",
        cred.job_nhosts(),
        cred.job_core_spec()
    )
}

/// The answer of every release about `job` or a node, to a credential with changes before it, separated by `; `.
#[test]
fn facts() {
    let variants = variants();
    hold(include_str!("credential.txt"), |_, question| {
        let (changes, name) = question.rsplit_once("; ").unwrap_or(("", question));
        of_every_release(&variants, |variant| {
            let mut bytes = whole(variant);
            put_all(variant, &mut bytes, changes);
            with_cred(&mut bytes, variant, |cred| match name {
                "job" => job(cred),
                name => node(cred, name).unwrap_or_else(|why| match why {
                    Error::Nonsense { .. } => format!("nonsense: {why}"),
                    Error::Absent { .. } => format!("absent: {why}"),
                    why => why.to_string(),
                }),
            })
        })
    });
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
