//! The mark on a handover: slurmd makes it with its key, slurmstepd checks it with the same.
//! It holds for one step of one user on one node. Nobody but root can make or read one: the
//! variable is taken out of the tasks' environment.

use berth_host::key::{Key, Mark};
use berth_placement::sets::limits::HANDOVER_BYTES;
use slurm_sys::StepId;

use crate::step::handover::Handover;

/// The first word. Another number means that the handover's fields have another meaning.
const VERSION: &str = "4";

/// The texts of most steps are shorter.
const USUAL: usize = 512;

/// The step, user and node that a mark is valid for.
pub(crate) struct StepIdentity<'a> {
    pub node_name: &'a str,
    pub step: StepId,
    pub uid: u32,
}

/// The most bytes of the variable's value: version and handover, a blank, and the mark.
pub(crate) const MOST: usize = HANDOVER_BYTES + 1 + 2 * size_of::<u128>();

/// The variable's value: version, the handover, and the mark of both.
pub(crate) fn sealed(handover: &Handover, identity: &StepIdentity<'_>, key: &Key) -> String {
    let mut text = Vec::with_capacity(USUAL);
    text.extend_from_slice(VERSION.as_bytes());
    text.push(b' ');
    // Its values all have a form in JSON; a text that is cut would not be believed.
    let _ = serde_json::to_writer(&mut text, handover);
    let Mark(mark) = mark(&text, identity, key);
    text.push(b' ');
    text.extend_from_slice(digits(mark).as_flattened());
    String::from_utf8(text).unwrap_or_default()
}

/// The handover in a variable, if slurmd has marked it for this step.
///
/// # Errors
/// The reason why it is not trusted, for the log.
pub(crate) fn opened(
    text: &str,
    identity: &StepIdentity<'_>,
    key: &Key,
) -> Result<Handover, String> {
    let (marked, given) = text.rsplit_once(' ').unwrap_or_default();
    let Some((VERSION, fields)) = marked.split_once(' ') else {
        return Err("another release of berth wrote it".into());
    };
    let given = u128::from_str_radix(given, 16).ok().map(Mark);
    if given != Some(mark(marked.as_bytes(), identity, key)) {
        return Err("its mark is not slurmd's".into());
    }
    fields.parse()
}

/// The mark of version and fields.
fn mark(marked: &[u8], identity: &StepIdentity<'_>, key: &Key) -> Mark {
    let StepId {
        job_id, step_id, ..
    } = identity.step;
    let component = identity.step.het_component.unwrap_or(u32::MAX);
    let numbers = [job_id, step_id, component, identity.uid].map(u32::to_le_bytes);
    key.mark(&[
        identity.node_name.as_bytes(),
        numbers.as_flattened(),
        marked,
    ])
}

/// Two small hexadecimal digits for each byte.
fn digits(mark: u128) -> [[u8; 2]; size_of::<u128>()] {
    let digit = |half: u8| half + if half < 10 { b'0' } else { b'a' - 10 };
    let bytes = mark.to_be_bytes();
    bytes.map(|byte| [digit(byte >> 4), digit(byte & 0xf)])
}

#[cfg(test)]
mod tests {
    use slurm_sys::views::StepKind;

    use super::*;
    use crate::step::handover::Outcome;

    fn identity(node_name: &str, ids: (u32, u32, Option<u32>), uid: u32) -> StepIdentity<'_> {
        let (job_id, step_id, het_component) = ids;
        StepIdentity {
            node_name,
            step: StepId {
                job_id,
                step_id,
                het_component,
                kind: StepKind::Regular,
            },
            uid,
        }
    }

    #[test]
    fn a_mark_holds_for_one_step_of_one_user_on_one_node() {
        let (own, other) = (Key::new([1; 16]), Key::new([2; 16]));
        let handover = Handover {
            outcome: Outcome::Bound,
            ..Handover::default()
        };
        let its = identity("n1", (1, 0, None), 1000);
        let text = sealed(&handover, &its, &own);
        assert_eq!(opened(&text, &its, &own), Ok(handover));
        for (identity, key) in [
            (identity("n2", (1, 0, None), 1000), &own),
            (identity("n1", (2, 0, None), 1000), &own),
            (identity("n1", (1, 1, None), 1000), &own),
            (identity("n1", (1, 0, Some(0)), 1000), &own),
            (identity("n1", (1, 0, None), 1001), &own),
            (its, &other),
        ] {
            let error = opened(&text, &identity, key).unwrap_err();
            assert_eq!(error, "its mark is not slurmd's");
        }
    }

    #[test]
    fn what_a_user_writes_is_not_believed() {
        let key = Key::new([1; 16]);
        let identity = identity("n1", (1, 0, None), 1000);
        let fields = serde_json::to_string(&Handover::default()).unwrap();
        let zero = format!("{VERSION} {fields} {:032x}", 0);
        let texts = ["", "1", "1 ", "4 x 0", "4 x +", "4 0", &fields, &zero];
        for text in texts {
            assert!(opened(text, &identity, &key).is_err(), "{text:?}");
        }
        let other = sealed(&Handover::default(), &identity, &key).replacen(VERSION, "2", 1);
        let error = opened(&other, &identity, &key).unwrap_err();
        assert_eq!(error, "another release of berth wrote it");
        let whole = sealed(&Handover::default(), &identity, &key);
        for changed in [
            whole.clone() + " own=0-99",
            whole.replacen('}', ",\"own\":\"f\"}", 1),
        ] {
            assert!(opened(&changed, &identity, &key).is_err(), "{changed}");
        }
    }

    #[test]
    fn every_byte_has_two_digits() {
        let mark = 0xff00_091a_f0ff_0000_0000_0000_0000_0001;
        let text = format!("{mark:032x}");
        assert_eq!(digits(mark).as_flattened(), text.as_bytes());
    }
}
