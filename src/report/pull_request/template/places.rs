//! Where a forge looks for templates, and which of several is meant.

/// Folders, in the order in which they count; the empty one is the top.
pub const FOLDERS: [&str; 3] = [".github", "", "docs"];

/// Whether a file's name is that of a repository's only template, in any case.
pub fn is_single(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    matches!(
        lower.as_str(),
        "pull_request_template.md" | "pull_request_template.txt" | "pull_request_template"
    )
}

/// Whether a folder's name is that of several templates, in any case.
pub fn is_folder(name: &str) -> bool {
    name.eq_ignore_ascii_case("pull_request_template")
}

/// Whether a file of such a folder is a template.
pub fn is_one_of_several(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    std::path::Path::new(&lower).extension().is_some_and(|e| e == "md" || e == "txt")
}

/// Which of several is meant: the named one (with or without its ending), else the default one, else the only one.
///
/// # Errors
/// None is named, and none is the default: the names there are.
pub fn choose<'n>(names: &[&'n str], named: Option<&str>) -> Result<Option<&'n str>, Vec<&'n str>> {
    let stem = |name: &str| name.rsplit_once('.').map_or(name, |(stem, _)| stem).to_ascii_lowercase();
    if let Some(named) = named {
        let found = names.iter().find(|n| **n == named).or_else(|| {
            names.iter().find(|n| n.eq_ignore_ascii_case(named) || stem(n) == named.to_ascii_lowercase())
        });
        return found.map(|name| Some(*name)).ok_or_else(|| names.to_vec());
    }
    let default = names.iter().find(|n| matches!(stem(n).as_str(), "default" | "pull_request_template"));
    match (default, names) {
        (Some(default), _) => Ok(Some(default)),
        (None, []) => Ok(None),
        (None, [only]) => Ok(Some(only)),
        (None, several) => Err(several.to_vec()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_several_is_chosen_or_nothing_is() {
        assert!(is_single("PULL_REQUEST_TEMPLATE.md") && is_single("pull_request_template.md"));
        assert!(!is_single("pull_request_template.md.bak") && is_folder("PULL_REQUEST_TEMPLATE"));
        assert_eq!(choose(&[], None), Ok(None));
        assert_eq!(choose(&["bug.md"], None), Ok(Some("bug.md")));
        assert_eq!(choose(&["bug.md", "Default.md"], None), Ok(Some("Default.md")));
        assert_eq!(choose(&["bug.md", "feature.md"], None), Err(vec!["bug.md", "feature.md"]));
        assert_eq!(choose(&["bug.md", "feature.md"], Some("Feature")), Ok(Some("feature.md")));
        assert_eq!(choose(&["bug.md"], Some("docs")), Err(vec!["bug.md"]));
    }
}
