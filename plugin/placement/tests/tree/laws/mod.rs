//! The laws, by what they are about. Each is written from what requests mean, not from the code.

pub mod automatic;
pub mod cgroups;
pub mod cpuset;
pub mod grid_engine;
pub mod limits;
pub mod near;
pub mod order;
pub mod own;
pub mod preferred;
pub mod refusals;
pub mod room;
pub mod same;
pub mod shapes;
pub mod share;
pub mod width;

use super::harness::Law;

/// Every law there is.
pub const ALL: [Law; 35] = [
    own::ONLY_OWNED,
    own::ONLY_PRESENT,
    own::SOMEWHERE,
    room::THREADS_APART,
    room::CORES_APART,
    room::CPUS_FOR_ALL,
    room::CORES_HAVE_CPUS_FOR_ALL,
    room::NEVER_SILENT,
    shapes::WHOLE_OBJECTS,
    shapes::TEXT_SAYS_IT,
    width::AS_ASKED,
    width::FEWER_IS_SAID,
    limits::OF_CORES,
    limits::OF_SOCKETS,
    limits::OF_THREADS,
    refusals::SERVED,
    refusals::TOO_MANY,
    same::RENUMBERED,
    same::CORES_ARE_CPUS,
    automatic::EXACT,
    order::WALKED,
    grid_engine::CHOSEN,
    share::EVERY_CORE_ONCE,
    share::SIBLINGS_NEAR,
    cpuset::INSIDE,
    cpuset::SMALLEST,
    near::APART,
    near::NEAREST,
    near::RENUMBERED,
    preferred::ISOLATED,
    preferred::ONE_KIND,
    cgroups::INSIDE,
    cgroups::GRANTED,
    cgroups::SOMEWHERE,
    cgroups::NOTHING_LOST,
];
