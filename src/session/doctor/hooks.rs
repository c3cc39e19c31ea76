//! Hooks: in place, current, reached by git, beside whoever else has hooks; and the program they call.

use std::path::Path;

use super::{Check, Scene, Status, quoted, quoted_path};
use crate::git::hooks::{self, Done, Found, State};
use crate::model::Result;

const WHY: &str = "commits get no trailers and links, and a push is not held against its gates";

/// Where programs that were not started from a shell look for others.
const PLAIN_PATH: [&str; 5] = ["/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin"];

pub(super) fn checks(scene: &Scene) -> Result<Vec<Check>> {
    let mut found = program();
    let events = hooks::inspect(&scene.git, &scene.program)?;
    let absent = events.iter().filter(|f| f.state == State::Absent).count();
    let owned =
        events.iter().any(|f| hooks::by_hand(&scene.git, f.event, &scene.program).is_ok_and(|m| m.is_some()));
    if absent == events.len() && !owned {
        found.push(Check::warn("hooks", "none is installed", WHY).mend("git incident init"));
    } else {
        for event in &events {
            found.push(one(scene, event)?);
        }
    }
    let managers = hooks::managers(&scene.git, &scene.program)?;
    for note in managers {
        found.push(Check::ok("hook-managers", note));
    }
    Ok(found)
}

fn one(scene: &Scene, found: &Found) -> Result<Check> {
    let name = found.event.name();
    if let Some(Done::Manual { owner, path, lines }) =
        hooks::by_hand(&scene.git, found.event, &scene.program)?
    {
        return Ok(by_hand(name, &owner, &path, &lines));
    }
    Ok(match &found.state {
        State::Config | State::File => Check::ok("hooks", format!("{name} is in place")),
        State::Outdated => {
            let text = format!("{name} is not what this version writes: {}", found.path.display());
            Check::warn("hooks", text, WHY).mend("git incident init")
        }
        State::Absent => {
            Check::warn("hooks", format!("{name} is not installed"), WHY).mend("git incident init")
        }
        State::Unreachable(reason) => {
            let text = format!("{name} is installed and does not run: {reason}");
            let check = Check::problem("hooks", text, WHY);
            check.mend(format!("chmod +x {} && git incident init", quoted_path(&found.path)))
        }
    })
}

/// A directory that belongs to somebody else: a person adds our lines there.
fn by_hand(name: &str, owner: &str, path: &Path, lines: &str) -> Check {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let calls = text.lines().any(|l| {
        !l.trim_start().starts_with('#') && l.contains(&format!("hook {name}")) && l.contains("git-incident")
    });
    let runs = owner == "husky" || is_executable(path);
    if calls && runs {
        return Check::ok("hooks", format!("{name} is in {}", path.display()));
    }
    let place = quoted_path(path);
    if calls {
        let text = format!("{} calls us and is not executable", path.display());
        return Check::new("hooks", Status::Problem, text, WHY).mend(format!("chmod +x {place}"));
    }
    let text = format!("{name} is not installed: the hooks are {owner}'s, in {}", path.display());
    let mend = format!(
        "{{ test -e {place} || echo '#!/bin/sh' > {place}; }} && echo {} >> {place} && chmod +x {place}",
        quoted(lines)
    );
    Check::warn("hooks", text, WHY).mend(mend)
}

fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(path).is_ok_and(|m| m.permissions().mode() & 0o111 != 0)
}

/// Whether `git incident` and the hooks find the program.
fn program() -> Vec<Check> {
    const NAME: &str = "git-incident";
    let why = "`git incident` and the hooks do not find it: hooks say so and let everything pass";
    let path = std::env::var_os("PATH").unwrap_or_default();
    let here = |directory: &Path| is_executable(&directory.join(NAME)) && directory.is_absolute();
    let own = std::env::current_exe().ok();
    let Some(found) = std::env::split_paths(&path).find(|d| here(d)) else {
        let check = Check::problem("program", "git-incident is not on the PATH", why);
        let folder = own.as_deref().and_then(Path::parent);
        return vec![match folder {
            Some(folder) => check.mend(format!("export PATH=\"$PATH\":{}", quoted_path(folder))),
            None => check,
        }];
    };
    let mut checks = vec![Check::ok("program", format!("{}", found.join(NAME).display()))];
    let desktop =
        ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|v| std::env::var_os(v).is_some_and(|v| !v.is_empty()));
    if desktop && !PLAIN_PATH.iter().any(|d| here(Path::new(d))) {
        let text = format!("programs started from the desktop may not look into {}", found.display());
        let why = "hooks of commits made in a graphical program say that it is not installed, and pass";
        let mend = format!("sudo ln -s {} /usr/local/bin/", quoted_path(&found.join(NAME)));
        checks.push(Check::warn("desktop-path", text, why).mend(mend));
    }
    checks
}
