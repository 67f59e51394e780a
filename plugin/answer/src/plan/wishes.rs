//! Which of berth's own options hold for a request: what it names, the site's default, or nothing
//! where the node honours none of them.

use berth_placement::request::core_kind::Kind;
use berth_placement::{Binding, Confine, CpuBind, Mapping, Near, Plan, SiteConfine};
use berth_srun::options::Own;

use crate::question::Question;
use crate::question::{ByDefault, DefaultSource};

impl Question {
    /// The `--binding` that holds: the request's, else the site's default if the request's
    /// `--cpu-bind` asks nothing, and no other option of berth's own is given.
    pub fn effective_binding(&self, cpu_bind: &CpuBind) -> Option<Binding> {
        let asks = !cpu_bind.asks_nothing() || self.mapping.is_some() || self.near.is_some();
        let by_default = || {
            let announced = || self.announced()?.binding_default.as_deref()?.parse().ok();
            let of_cluster = || self.settings()?.binding_default.clone();
            let found = of_cluster().or_else(announced);
            found.filter(|_| !asks)
        };
        let is_off = self.is_binding_off();
        self.binding.clone().or_else(by_default).filter(|_| !is_off)
    }

    /// The mapping that holds.
    pub fn effective_mapping(&self) -> Option<Mapping> {
        let mapping = self.mapping.clone();
        mapping.filter(|_| !self.is_binding_off())
    }

    /// The `--near` that holds.
    pub fn effective_near(&self) -> Option<Near> {
        let near = self.near.clone().filter(Near::asks);
        near.filter(|_| !self.is_binding_off())
    }

    /// Whether it is the user's own default.
    pub fn is_near_by_default(&self) -> bool {
        let own = DefaultSource::Variable(Own::Near.variable);
        let found = |one: &ByDefault| one.own == Own::Near && one.by == own;
        self.defaults.iter().any(found)
    }

    /// The `--core-kind` that holds.
    pub fn effective_core_kind(&self) -> Kind {
        let kind = self.core_kind.filter(|_| !self.is_binding_off());
        kind.unwrap_or_default()
    }

    /// The `--confine` that holds.
    fn effective_confine(&self) -> Option<Confine> {
        self.confine.filter(|_| !self.is_binding_off())
    }

    /// The site's `confine=`: as slurmd announced it here, or of the cluster that is asked about.
    pub(super) fn site_confine(&self) -> SiteConfine {
        let announced = self.announced().map(berth_site::SiteRules::confine);
        let of_cluster = || Some(self.settings()?.confine);
        announced.or_else(of_cluster).unwrap_or_default()
    }

    /// Whether the tasks of a plan are confined to their CPUs.
    pub(super) fn confines(&self, plan: &Plan) -> bool {
        plan.is_bound() && self.site_confine().confines(self.effective_confine())
    }

    /// The note on a `--confine` that is not honoured.
    pub(super) fn confine_note(&self, is_bound: bool) -> Option<&'static str> {
        self.site_confine().note(self.effective_confine(), is_bound)
    }

    /// Whether the node honours none of berth's own options (`binding=off`).
    pub(super) fn is_binding_off(&self) -> bool {
        self.announced().is_some_and(|rules| rules.binding_off)
            || self.settings().is_some_and(|settings| !settings.binding)
    }
}
