//! The texts of berth's own options ([`Own`]) that are given.

pub(crate) use berth_srun::options::Own;

/// The texts of the options that are given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Texts([Option<String>; Own::ALL.len()]);

impl Texts {
    /// The options for which there is a text.
    pub(crate) fn find(text: impl FnMut(Own) -> Option<String>) -> Self {
        Self(Own::ALL.map(text))
    }

    /// The text of an option.
    pub(crate) fn get(&self, own: Own) -> Option<&str> {
        self.0.get(own as usize)?.as_deref()
    }

    /// An option is given; what was given before no longer counts.
    pub(crate) fn set(&mut self, own: Own, text: String) {
        if let Some(place) = self.0.get_mut(own as usize) {
            *place = Some(text);
        }
    }

    /// Whether one of them chooses CPUs, and does not only narrow what another one chooses.
    pub(crate) fn chooses(&self) -> bool {
        let mut all = Own::ALL.into_iter();
        all.any(|own| self.get(own).is_some() && own.choice.chooses())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_option_has_its_place() {
        for own in Own::ALL {
            let mut texts = Texts::default();
            texts.set(own, "x".into());
            let only = Texts::find(|known| (known == own).then(|| "x".into()));
            assert_eq!((texts.get(own), &texts), (Some("x"), &only));
            let narrows = [Own::CoreKind, Own::Cpuset, Own::Confine, Own::Pool];
            assert_eq!(texts.chooses(), !narrows.contains(&own));
        }
        assert!(!Texts::default().chooses());
    }
}
