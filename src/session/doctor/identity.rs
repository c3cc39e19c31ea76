//! Who writes.

use super::{Check, Scene, not_open};
use crate::model::Result;
use crate::session::identity::{author, signature};

#[expect(clippy::unnecessary_wraps, reason = "every family has this shape")]
pub(super) fn checks(scene: &Scene) -> Result<Vec<Check>> {
    let Some(session) = &scene.session else { return Ok(not_open("identity")) };
    let why = "events say who wrote them: without a name nothing can be recorded";
    let mend = "git config user.name 'Your Name' && git config user.email you@example.org";
    Ok(vec![match author(&session.repo) {
        Err(error) => Check::problem("identity", error.to_string(), why).mend(mend),
        Ok(author) => match signature(&session.repo, false) {
            Err(error) => Check::problem("identity", error.to_string(), why).mend(mend),
            Ok(_) => Check::ok("identity", format!("{} <{}>", author.name, author.email)),
        },
    }])
}
