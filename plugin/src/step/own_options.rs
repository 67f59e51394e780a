//! berth's own options ([`Own`]): their routes from the submitting command (the launch request or the batch script's
//! environment to slurmd, and Slurm's call to slurmstepd), and what their texts request, or a text for the user.
//! Source of the routes: `slurm_spank_*` options in job_options.h.

use std::ffi::CStr;

use berth_placement::request::grid_engine::Strategy;
use berth_placement::request::keyword_options::CoreKindWish;
use berth_placement::sets::limits::USER_TEXT;
use berth_placement::sets::text::shown;
use berth_placement::{Binding, Confine, Mapping, Near, PoolWish, Request};
use berth_srun::OwnRequest;
use slurm_sys::views::SpankOption;

use crate::site::standing::NAME;
use crate::step::cpuset_size::{OPTION as SIZE, Size};

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

/// Informs slurmd that a step was started with `--overlap`, which no record of Slurm shows.
pub(crate) const OVERLAP: &CStr = c"berth-overlap";

/// The options in a launch request. They are there whatever `--export` says.
/// If one is there several times, the last counts.
pub(crate) fn of_step(options: &[SpankOption]) -> Texts {
    Texts::find(|own| {
        let ours = |option: &&SpankOption| own.names().contains(&option.option.as_str());
        options.iter().rev().find(ours)?.argument.clone()
    })
}

/// Whether srun had `--overlap`: its berth then gives the option of that name.
pub(crate) fn overlaps(options: &[SpankOption]) -> bool {
    let is_it = |option: &SpankOption| option.option.as_bytes() == OVERLAP.to_bytes();
    options.iter().any(is_it)
}

/// The word beside a step's `--cpuset`.
pub(crate) fn cpuset_size_of_step(options: &[SpankOption]) -> Size {
    let is_it = |option: &&SpankOption| option.option.as_bytes() == SIZE.to_bytes();
    let found = options.iter().rev().find(is_it);
    Size::of(found.and_then(|option| option.argument.as_deref()))
}

/// An option in a batch script's environment, in either spelling.
pub(crate) fn of_batch(own: Own, env: impl Fn(&str) -> Option<String>) -> Option<String> {
    let mut names = own.names().into_iter().rev();
    names.find_map(|name| in_environment(name, &env))
}

/// The word beside a batch script's `--cpuset`.
pub(crate) fn cpuset_size_of_batch(env: impl Fn(&str) -> Option<String>) -> Size {
    Size::of(in_environment(&SIZE.to_string_lossy(), env).as_deref())
}

fn in_environment(name: &str, env: impl Fn(&str) -> Option<String>) -> Option<String> {
    let name = name.replace('-', "_");
    let plain = format!("_SLURM_SPANK_OPTION_{NAME}_{name}");
    env(&plain).or_else(|| env(&format!("SLURM_SPANK_{plain}")))
}

/// The request of berth's own options.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ours {
    /// `--binding`; its strategy is not `none`.
    pub binding: Option<Binding>,
    /// `--map-by`, `--rank-by` and `--bind-to`.
    pub mapping: Option<Mapping>,
    /// `--core-kind`.
    pub core_kind: CoreKindWish,
    /// `--near`; it is no `none`.
    pub near: Option<Near>,
    /// `--confine`.
    pub confine: Option<Confine>,
    /// `--pool`.
    pub pool: Option<PoolWish>,
    /// `--cpuset`, as it is typed; it can be read.
    pub cpuset: Option<String>,
}

impl Ours {
    /// Reads the options' texts.
    ///
    /// # Errors
    /// A text that cannot be read, in words for the user.
    pub(crate) fn read(texts: &Texts) -> Result<Self, String> {
        let mut requested = OwnRequest::default();
        for own in Own::ALL {
            if let Some(text) = texts.get(own) {
                requested.take(own, text)?;
            }
        }
        let mapping = requested.mapping.unwrap_or_default();
        let mapping = Mapping::of(mapping.map, mapping.rank, mapping.bind);
        Ok(Self {
            cpuset: texts.get(Own::Cpuset).map(String::from),
            confine: requested.confine,
            pool: requested.pool.map(|_| PoolWish::None),
            near: requested.near.filter(Near::asks),
            core_kind: requested.core_kind.unwrap_or_default(),
            binding: requested
                .binding
                .filter(|one| one.strategy != Strategy::None),
            mapping: mapping.map_err(|why| why.to_string())?,
        })
    }

    /// Whether nothing is requested. A `--confine=off` requests nothing of berth, nor does a `--pool=none`.
    pub(crate) fn is_empty(&self) -> bool {
        let nothing = Self {
            confine: self.confine.filter(|_| !self.confines()),
            pool: self.pool,
            ..Self::default()
        };
        *self == nothing
    }

    /// Whether the tasks are to be confined.
    pub(crate) fn confines(&self) -> bool {
        self.confine == Some(Confine::Task)
    }

    /// Takes what chooses CPUs into a request.
    pub(crate) fn put(self, request: &mut Request) {
        request.binding = self.binding;
        request.mapping = self.mapping;
        request.core_kind = self.core_kind;
        request.near = self.near;
    }

    /// The options as they are typed, short enough for a message.
    pub(crate) fn typed(&self) -> String {
        let binding = self.binding.as_ref().map(|one| format!("--binding={one}"));
        let mapping = self.mapping.as_ref().map(ToString::to_string);
        let kind = Some(self.core_kind).filter(|kind| *kind != CoreKindWish::Any);
        let kind = kind.map(|kind| format!("--core-kind={kind}"));
        let near = self.near.as_ref().map(|near| format!("--near={near}"));
        let confine = self.confine.map(|confine| format!("--confine={confine}"));
        let cpuset = self.cpuset.as_ref().map(|text| format!("--cpuset={text}"));
        let pool = self.pool.map(|pool| format!("--pool={pool}"));
        let all = [binding, mapping, near, kind, cpuset, confine, pool];
        let all: Vec<_> = all.into_iter().flatten().collect();
        shown(USER_TEXT / 4, all.join(" "))
    }

    /// The note to a user whose options this node does not honour.
    pub(crate) fn off_note(&self) -> String {
        let typed = self.typed();
        format!(
            "{typed} is not honoured on this node (binding=off); leave it out, or ask the \
             administrator"
        )
    }

    /// The note to a user of a node whose release of Slurm berth does not know.
    pub(crate) fn inert_note(&self) -> String {
        let typed = self.typed();
        format!(
            "{typed} is not honoured: berth is inert here, because it does not know this node's release of \
             Slurm; leave it out, or ask the administrator"
        )
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

    /// An option that requests nothing is not said to be switched off.
    #[test]
    fn off_and_none_request_nothing() {
        for (own, text, is_empty) in [
            (Own::Confine, "off", true),
            (Own::Confine, "task", false),
            (Own::Pool, "none", true),
            (Own::Binding, "none", true),
            (Own::Binding, "linear:1", false),
        ] {
            let mut texts = Texts::default();
            texts.set(own, text.into());
            let ours = Ours::read(&texts).unwrap();
            assert_eq!(ours.is_empty(), is_empty, "{own:?} {text}");
        }
    }

    #[test]
    fn found_on_every_route() {
        let option = |option: &str, argument: &str| SpankOption {
            option: option.into(),
            argument: Some(argument.into()),
        };
        let options = [
            option("berth-overlap", "1"),
            option("binding", "linear:1"),
            option("berth-binding", "linear:2"),
            option("map-by", "core"),
        ];
        let found = of_step(&options);
        assert_eq!(found.get(Own::Binding), Some("linear:2"));
        assert_eq!(found.get(Own::MapBy), Some("core"));
        assert_eq!(of_step(&options[..1]), Texts::default());

        let only = |known: &'static str| move |name: &str| (name == known).then(|| "x".to_string());
        for known in [
            "_SLURM_SPANK_OPTION_berth_binding",
            "SLURM_SPANK__SLURM_SPANK_OPTION_berth_binding",
            "_SLURM_SPANK_OPTION_berth_berth_binding",
        ] {
            let found = of_batch(Own::Binding, only(known));
            assert_eq!(found.as_deref(), Some("x"), "{known}");
        }
        assert_eq!(of_batch(Own::Binding, |_| None), None);
        let map = of_batch(Own::MapBy, only("_SLURM_SPANK_OPTION_berth_map_by"));
        assert_eq!(map.as_deref(), Some("x"));
    }
}
