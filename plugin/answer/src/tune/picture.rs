//! The runs as a picture: one bar for each line, as long as its median, with its least and its largest value. SVG with
//! literal colours, for documents and tickets. Pure.

use std::fmt::Write;

use super::Runs;
use crate::picture::svg::escaped;

const WIDTH: f64 = 860.0;
const ROW: f64 = 44.0;
const LEFT: f64 = 16.0;
/// Room for the longest bar.
const ROOM: f64 = 700.0;
/// The letters of a line that fit.
const LETTERS: usize = 110;

/// The picture.
#[must_use]
pub fn svg(runs: &Runs<'_>) -> String {
    let (series, verdict) = (runs.series, runs.verdict);
    let order = verdict.order();
    let ranges = order.iter().filter_map(|at| series[*at].range());
    let largest = ranges
        .map(|[_, most]| most)
        .fold(f64::MIN_POSITIVE, f64::max);
    let height = ROW * order.len() as f64 + 2.0 * LEFT;
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" viewBox=\"0 0 {WIDTH} {height}\" \
         font-family=\"monospace\" font-size=\"12\">\n<rect width=\"{WIDTH}\" height=\"{height}\" fill=\"#ffffff\"/>\n"
    );
    for (row, at) in (0..).zip(&order) {
        let (Some(median), Some([least, most])) = (series[*at].median(), series[*at].range())
        else {
            continue;
        };
        let place = |value: f64| LEFT + value / largest * ROOM;
        let top = LEFT + ROW * f64::from(row);
        let colour = match verdict.best == Some(*at) && verdict.is_clear {
            true => "#2e7d4f",
            false => "#8aa9d6",
        };
        let line: String = runs.found.all[*at]
            .line
            .chars()
            .filter(|letter| !letter.is_control())
            .take(LETTERS)
            .collect();
        let (bar, middle, name) = (place(median) - LEFT, top + 25.0, top + 12.0);
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            "<text x=\"{LEFT}\" y=\"{name}\" fill=\"#1b1f24\">{}</text>\n\
             <rect x=\"{LEFT}\" y=\"{}\" width=\"{bar:.1}\" height=\"16\" fill=\"{colour}\"/>\n\
             <path d=\"M{:.1} {middle}H{:.1}\" stroke=\"#1b1f24\" stroke-width=\"1.5\"/>\n\
             <text x=\"{:.1}\" y=\"{}\" fill=\"#1b1f24\">{median:.4}</text>\n",
            escaped(&line),
            top + 17.0,
            place(least),
            place(most),
            place(most) + 6.0,
            top + 29.0,
        );
    }
    text + "</svg>\n"
}
