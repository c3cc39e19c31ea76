//! The `git-incident` program: everything is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    let status = git_incident::cli::main(std::env::args_os().collect());
    ExitCode::from(u8::try_from(status).unwrap_or(70))
}
