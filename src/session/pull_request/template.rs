//! The repository's own template: a regular file of the base, never what a link points to.

use super::super::Session;
use crate::model::{Error, Oid, Result};
use crate::report::pull_request::template::{LARGEST, Template, places};

/// What was chosen.
#[derive(Debug, Clone, Default)]
pub(super) struct Chosen {
    /// Its path.
    pub(super) path: Option<String>,
    /// Its text.
    pub(super) text: Option<String>,
    /// Why there is none, when there could be.
    pub(super) remark: Option<String>,
}

impl Session {
    /// The template of a commit. With a name, one of several; without, the only one or the default one.
    pub(super) fn choose_template(&self, commit: &Oid, named: Option<&str>) -> Result<Chosen> {
        let mut several: Vec<String> = Vec::new();
        for folder in places::FOLDERS {
            let found = self.repo.folder_at(commit, folder)?;
            if named.is_none()
                && let Some(name) = found.files.iter().find(|name| places::is_single(name))
            {
                return self.use_template(commit, &below(folder, name));
            }
            if let Some(name) = found.folders.iter().find(|name| places::is_folder(name)) {
                let inside = below(folder, name);
                let files = self.repo.folder_at(commit, &inside)?.files;
                several
                    .extend(files.iter().filter(|f| places::is_one_of_several(f)).map(|f| below(&inside, f)));
            }
            if named.is_some() {
                several.extend(found.files.iter().filter(|f| places::is_single(f)).map(|f| below(folder, f)));
            }
        }
        let names: Vec<&str> = several.iter().map(|path| path.rsplit('/').next().unwrap_or(path)).collect();
        match places::choose(&names, named) {
            Ok(Some(name)) => {
                let path = several.iter().find(|path| path.rsplit('/').next() == Some(name));
                self.use_template(commit, path.map_or("", String::as_str))
            }
            Ok(None) => Ok(Chosen::default()),
            Err(names) => match named {
                Some(named) => {
                    let mut error =
                        Error::usage(format!("there is no pull request template {named:?} at the base"));
                    error = if names.is_empty() {
                        error.because("it has no templates").hint("leave --template out")
                    } else {
                        error.hint(format!("there are: {}", names.join(", ")))
                    };
                    Err(error)
                }
                None => Ok(Chosen {
                    remark: Some(format!(
                        "there are several templates, and none is used: choose one with --template NAME ({})",
                        names.join(", ")
                    )),
                    ..Chosen::default()
                }),
            },
        }
    }

    fn use_template(&self, commit: &Oid, path: &str) -> Result<Chosen> {
        let bytes = self.repo.file_at(commit, path)?.unwrap_or_default();
        let unused = |why: &str| {
            Ok(Chosen {
                remark: Some(format!("the template {path} is not used: {why}")),
                ..Chosen::default()
            })
        };
        // Decoding a larger one would be work for nothing.
        if bytes.len() > LARGEST + 3 {
            return unused("it is larger than 24,000 bytes, which leaves no room for a description");
        }
        let Ok(text) = String::from_utf8(bytes) else {
            return unused("it is no UTF-8");
        };
        if text.contains('\0') {
            return unused("it is no text");
        }
        if let Err(why) = Template::read(&text) {
            return unused(why.explain());
        }
        Ok(Chosen { path: Some(path.to_owned()), text: Some(text), remark: None })
    }
}

fn below(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}
