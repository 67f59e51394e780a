//! The wishes that berth's own options name. In: their texts. Out: what a request takes from them,
//! or a text for the user.

use berth_placement::request::grid_engine::Strategy;
use berth_placement::request::keyword_options::CoreKindWish;
use berth_placement::sets::limits::USER_TEXT;
use berth_placement::sets::text::shown;
use berth_placement::{Binding, Confine, Mapping, Near, PoolWish, Request};
use berth_srun::OwnRequest;

use crate::step::options::{Own, Texts};

/// What berth's own options request.
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
    /// What is wrong with them, for the user.
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
