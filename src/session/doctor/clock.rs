//! The clock, against the newest events.

use super::{Check, Scene, Status, not_open};
use crate::model::time::human_duration;
use crate::model::{Result, Timestamp};

/// Clocks of two machines may differ by this much without a word.
const TOLERATED: i64 = 2 * 60 * 1000;

/// Further ahead than this it is the event's clock that was wrong, not ours.
const FAR: i64 = 24 * 60 * 60 * 1000;

/// When this program was written: a clock before that is not set.
const WRITTEN: i64 = 1_735_689_600_000;

/// What the newest event says of the clock.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    Fine,
    NotSet,
    Behind(i64),
    FarEvent(i64),
}

fn judge(now: Timestamp, newest: Timestamp) -> Verdict {
    let ahead = newest.millis() - now.millis();
    match ahead {
        _ if now.millis() < WRITTEN => Verdict::NotSet,
        a if a > FAR => Verdict::FarEvent(a),
        a if a > TOLERATED => Verdict::Behind(a),
        _ => Verdict::Fine,
    }
}

pub(super) fn checks(scene: &Scene) -> Result<Vec<Check>> {
    let Some(session) = &scene.session else { return Ok(not_open("clock")) };
    let now = session.now();
    let why = "an event is dated after its parents, so a wrong clock moves the times of all that come later";
    let mend = "timedatectl set-ntp true";
    let incidents = session.incidents()?;
    let newest = incidents.iter().max_by_key(|i| i.last_at);
    let at = newest.map(|i| i.last_at).unwrap_or_default();
    let ahead = |millis: i64| human_duration(millis.unsigned_abs());
    let id = newest.and_then(|i| i.id.as_ref()).map_or("", |id| id.short());
    Ok(vec![match judge(now, at) {
        Verdict::Fine => Check::ok("clock", format!("it is {now}")),
        Verdict::NotSet => Check::problem("clock", format!("it is not set: it says {now}"), why).mend(mend),
        Verdict::Behind(millis) => {
            let text = format!("it is {} behind the newest event, of incident {id} ({at})", ahead(millis));
            Check::warn("clock", text, why).mend(mend)
        }
        Verdict::FarEvent(_) => {
            let text =
                format!("an event of incident {id} is dated {at}: the clock of who wrote it was wrong");
            Check::new("future-event", Status::Warn, text, why)
        }
    }])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_is_judged_by_the_newest_event() {
        let now = Timestamp::from_millis(1_800_000_000_000);
        let later = |millis: i64| Timestamp::from_millis(now.millis() + millis);
        assert_eq!(judge(now, later(-FAR)), Verdict::Fine);
        assert_eq!(judge(now, later(TOLERATED)), Verdict::Fine);
        assert_eq!(judge(now, later(TOLERATED + 1)), Verdict::Behind(TOLERATED + 1));
        assert_eq!(judge(now, later(FAR + 1)), Verdict::FarEvent(FAR + 1));
        assert_eq!(judge(Timestamp::from_millis(0), now), Verdict::NotSet);
    }
}
