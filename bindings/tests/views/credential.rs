//! The credential of every release: shapes, cores, and what does not fit together.

use super::fields::put_all;
use crate::common::{Bytes, Variant, fakes, variants};
use slurm_sys::{CoreSpec, Credential, Error};
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
            let shape = |name| {
                let node = node(name);
                (node.sockets, node.cores_per_socket, node.first_bit)
            };
            assert_eq!(
                ["b", "e", "f"].map(shape),
                [(2, 4, 8), (1, 40, 96), (4, 2, 136)]
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
            assert_eq!(cred.job_partition().as_deref(), Some("debug"));
            assert_eq!(cred.job_reservation().as_deref(), Some("night"));
            assert_eq!((cred.job_account(), cred.job_qos()), (None, None));
        });
    }
}

#[test]
fn a_credential_that_contradicts_itself_is_an_error_and_no_crash() {
    for variant in variants() {
        let changed = |change: &str| {
            let mut bytes = uneven(&variant);
            bytes.put_array("step_core_bitmap", 8, &bit_string(144, &[0]));
            put_all(&variant, &mut bytes, change);
            with_cred(&mut bytes, &variant, |cred| {
                cred.node_cores(5).and_then(|node| cred.step_cores(&node))
            })
        };
        for change in [
            "core_array_size=2",
            "core_array_size=0",
            "sockets_per_node=0",
            "cores_per_socket=list:4,0,2",
            // A bit too few, another magic number, and a length beyond all memory.
            "step_core_bitmap=longs:0x42434445,143,1,0,0",
            "step_core_bitmap=longs:7,144,0,0,0",
            "step_core_bitmap=longs:0x42434445,0xffffffffffffffff",
        ] {
            let found = changed(change);
            assert!(
                matches!(found, Err(Error::Nonsense { .. })),
                "{change}: {found:?}"
            );
        }
        let found = changed("step_core_bitmap=0");
        assert!(matches!(found, Err(Error::Absent { .. })), "{found:?}");
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
