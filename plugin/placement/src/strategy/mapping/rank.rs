//! Which task gets which mapped place. In: places in mapping order. Out: the same by local id. Pure.

use crate::request::mapping::RankBy;
use crate::strategy::mapping::Place;

/// The places in the order of tasks.
pub(super) fn ranked(mut places: Vec<Place>, rank: RankBy) -> Vec<Place> {
    match rank {
        RankBy::Slot | RankBy::Node => places,
        RankBy::Fill => {
            // Places of one object stay in mapping order.
            places.sort_by_key(|place| place.object);
            places
        }
        RankBy::Span => span(places),
    }
}

/// The first place of each object, then the second of each.
fn span(places: Vec<Place>) -> Vec<Place> {
    let objects = places.iter().map(|place| place.object + 1).max();
    let mut turns = vec![0_usize; objects.unwrap_or(0)];
    let in_turn = |place: Place| {
        let turn = &mut turns[place.object];
        *turn += 1;
        (*turn, place)
    };
    let mut places: Vec<_> = places.into_iter().map(in_turn).collect();
    places.sort_by_key(|(turn, place)| (*turn, place.object));
    places.into_iter().map(|(_, place)| place).collect()
}
