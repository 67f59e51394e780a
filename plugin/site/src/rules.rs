//! The site's rules in slurmd's announcement: everything beside the request that decides which CPUs
//! a task gets here, so that a dry run on this node answers as slurmd will.
//! In: the planner's node and slurmd's defaults. Out: a part of `slurmd.json`, read by every user.

use std::sync::Arc;

use berth_placement::request::fixes::Fix;
use berth_placement::{CpuSet, Fixes, Level, Machine, Node, Rules, Shape, SiteConfine, SocketKind};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The form of this part. A reader ignores fields that it does not know; only another meaning of a
/// field needs another number, and then older readers use none of it.
pub const VERSION: u32 = 1;

/// The rules. Fields that an older release did not write have their defaults.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SiteRules {
    /// [`VERSION`].
    pub version: u32,
    /// Slurm's release line, `22.05`.
    pub slurm_line: String,
    /// The behaviour in words: `berth`, `affinity`, or one of them with `fixes=`.
    pub compat: String,
    /// The names of the fixes in force, and no others.
    pub fixes: Vec<String>,
    /// `TaskPluginParam=autobind=`.
    pub autobind: Option<String>,
    /// The default of `TaskPluginParam` for steps without a `--cpu-bind`. slurmd does not know a
    /// `CpuBind=` of the node or partition, which overrides it.
    pub cpu_bind: Option<String>,
    /// The kind of object that slurmd calls a socket: `package`, `numa` or `l3`.
    pub socket: String,
    /// `SelectTypeParameters=CR_CORE_DEFAULT_DIST_BLOCK`.
    pub block_by_default: bool,
    /// `ConstrainCores=yes` of cgroup.conf.
    pub constrain_cores: bool,
    /// `binding_fail=refuse`.
    pub refuse_failed_binding: bool,
    /// `cpuset_best=off`.
    pub cpuset_first_fit: bool,
    /// `cpuset_fail=`; empty is `refuse`.
    pub cpuset_fail: String,
    /// `binding=off`.
    pub binding_off: bool,
    /// `binding_default=`.
    pub binding_default: Option<String>,
    /// `reserved=`: a list of CPUs.
    pub reserved: String,
    /// `cpusets=`: the site's file; empty if there is none.
    pub cpusets: String,
    /// `pools=`: the site's file; empty if there is none.
    pub pools: String,
    /// The hardware threads that all pools together may own.
    pub pool_cpus: u32,
    /// The hardware threads of what Slurm calls a CPU, by which pools count: more than one where slurmd counts cores. 0 if an
    /// older release wrote this.
    pub cpu_threads: u32,
    /// `confine=`; empty for off.
    pub confine: String,
    /// slurmd's count of the host.
    pub shape: Shape,
}

impl SiteRules {
    /// The rules of a node; the caller adds slurmd's own defaults.
    #[must_use]
    pub fn of(node: &Node) -> Self {
        let rules = node.rules();
        let fixes = Fix::table().filter(|(fix, ..)| rules.fixes.has(*fix));
        Self {
            version: VERSION,
            fixes: fixes.map(|(_, name, _)| name.into()).collect(),
            autobind: rules.autobind.map(|level| level.to_string()),
            socket: socket_name(node.socket()).into(),
            block_by_default: rules.block_by_default,
            constrain_cores: rules.constrain_cores,
            refuse_failed_binding: rules.refuse_failed_binding,
            cpuset_first_fit: rules.cpuset_first_fit,
            cpuset_fail: rules.cpuset_fail.to_string(),
            shape: node.shape().clone(),
            ..Self::default()
        }
    }

    /// Reads the part of an announcement. `None` if an older release wrote none, or a later one
    /// gave it another meaning.
    #[must_use]
    pub fn read(part: &Value) -> Option<Self> {
        let rules = Self::deserialize(part).ok()?;
        (rules.version == VERSION).then_some(rules)
    }

    /// The planner's rules.
    #[must_use]
    pub fn rules(&self) -> Rules {
        let has = |name: &str| self.fixes.iter().any(|known| known == name);
        let fixes = Fix::table().fold(Fixes::NONE, |set, (fix, name, _)| set.with(fix, has(name)));
        Rules {
            fixes,
            block_by_default: self.block_by_default,
            autobind: self.autobind.as_deref().and_then(level),
            refuse_failed_binding: self.refuse_failed_binding,
            constrain_cores: self.constrain_cores,
            cpuset_first_fit: self.cpuset_first_fit,
            cpuset_fail: self.cpuset_fail.parse().unwrap_or_default(),
        }
    }

    /// The CPUs that no task gets while its step has others.
    #[must_use]
    pub fn reserved(&self) -> CpuSet {
        CpuSet::from_list(&self.reserved).unwrap_or_default()
    }

    /// Whether bound tasks are confined. A later release's word that is not known here is read as off.
    #[must_use]
    pub fn confine(&self) -> SiteConfine {
        let mut known = SiteConfine::WORDS.into_iter();
        let found = known.find(|(word, _)| *word == self.confine);
        found.map_or(SiteConfine::Off, |(_, site)| site)
    }

    /// The fixes in force that this release of berth does not know.
    #[must_use]
    pub fn unknown_fixes(&self) -> Vec<&str> {
        let known = |name: &str| Fix::table().any(|(_, known, _)| known == name);
        let names = self.fixes.iter().map(String::as_str);
        names.filter(|name| !known(name)).collect()
    }

    /// The object that slurmd calls a socket; packages if the word is not known.
    #[must_use]
    pub fn socket(&self) -> SocketKind {
        let all = [SocketKind::Package, SocketKind::Numa, SocketKind::L3];
        let named = all
            .into_iter()
            .find(|kind| socket_name(*kind) == self.socket);
        named.unwrap_or_default()
    }

    /// slurmd's count of the host, if it announced one.
    #[must_use]
    pub fn shape(&self) -> Option<Shape> {
        let shape = &self.shape;
        let counts = [shape.sockets, shape.cores, shape.threads, shape.stride];
        let has_all = !shape.map.is_empty() && counts.iter().all(|count| *count > 0);
        has_all.then(|| shape.clone())
    }

    /// The host as slurmd counts it, if it announced that.
    #[must_use]
    pub fn node(&self, machine: Option<Arc<Machine>>) -> Option<Node> {
        let (shape, socket) = (self.shape()?, self.socket());
        Some(Node::new(shape, machine, socket, self.rules()))
    }
}

/// The word for a kind of socket, as `--socket` takes it.
#[must_use]
pub fn socket_name(kind: SocketKind) -> &'static str {
    match kind {
        SocketKind::Package => "package",
        SocketKind::Numa => "numa",
        SocketKind::L3 => "l3",
    }
}

fn level(name: &str) -> Option<Level> {
    [Level::Threads, Level::Cores, Level::Sockets, Level::Ldoms]
        .into_iter()
        .find(|level| level.to_string() == name)
}

#[cfg(test)]
mod tests {
    use berth_placement::{CpusetFail, Machine, Numbering};
    use serde_json::json;

    use super::*;

    fn node(rules: Rules, kind: SocketKind) -> Node {
        let machine = Machine::regular(2, 4, 2, Numbering::Cyclic).unwrap();
        Node::of(machine, kind, rules)
    }

    #[test]
    fn a_node_is_read_back_from_its_words() {
        let some = Fixes::NONE.with(Fix::ThirdLevel, true);
        for fixes in [Fixes::ALL, Fixes::NONE, some] {
            for (kind, autobind) in [
                (SocketKind::Package, None),
                (SocketKind::Numa, Some(Level::Cores)),
                (SocketKind::L3, Some(Level::Threads)),
            ] {
                let rules = Rules {
                    fixes,
                    autobind,
                    block_by_default: autobind.is_some(),
                    refuse_failed_binding: autobind.is_none(),
                    constrain_cores: autobind.is_some(),
                    cpuset_first_fit: autobind.is_some(),
                    cpuset_fail: autobind.map_or(CpusetFail::Unbound, |_| CpusetFail::Refuse),
                };
                let node = node(rules, kind);
                let words = serde_json::to_value(SiteRules::of(&node)).unwrap();
                let read = SiteRules::read(&words).unwrap();
                assert_eq!(read.rules(), rules);
                assert_eq!(read.socket(), kind);
                assert_eq!(read.shape().as_ref(), Some(node.shape()));
            }
        }
    }

    #[test]
    fn other_releases_are_read_or_left() {
        let mut words =
            serde_json::to_value(SiteRules::of(&node(Rules::default(), SocketKind::Package)))
                .unwrap();
        words["a_later_field"] = json!(["anything"]);
        words["fixes"]
            .as_array_mut()
            .unwrap()
            .push(json!("later-fix"));
        let read = SiteRules::read(&words).unwrap();
        assert_eq!(read.unknown_fixes(), ["later-fix"]);
        assert_eq!(read.rules(), Rules::default());
        words["version"] = json!(VERSION + 1);
        assert_eq!(SiteRules::read(&words), None);
        assert_eq!(SiteRules::read(&Value::Null), None);
        assert_eq!(
            SiteRules::read(&json!({"version": VERSION}))
                .unwrap()
                .shape(),
            None
        );
    }
}
