//! The demo: a whole incident, played for real, by the commands a person would type.

mod common;

use common::Repo;

#[test]
fn a_whole_incident_is_played_and_git_agrees_with_it() {
    let home = Repo::new();
    let scene = home.root().join("scene");
    let place = scene.display().to_string();
    let view = home.incident_json(&["demo", &place]);
    assert_eq!(view["path"].as_str(), Some(place.as_str()));
    let repo = home.at(&scene);
    // git is the oracle: everything that was written is sound, and nothing is left lying about.
    repo.run("git", &["fsck", "--strict"]).expect(0);
    assert_eq!(repo.git(&["status", "--porcelain"]), "");
    let shown: serde_json::Value =
        serde_json::from_str(&repo.incident(&["show", "DEMO-1", "--json"]).expect(0).stdout).unwrap();
    let outcomes: Vec<(&str, &str)> = shown["attempts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|a| (a["outcome"]["hypothesis"].as_str().unwrap(), a["outcome"]["bug"].as_str().unwrap()))
        .collect();
    assert_eq!(outcomes, [("refuted", "remains"), ("refuted", "remains"), ("supported", "fixed")]);
    assert_eq!(shown["status"], "resolved");
    for precondition in ["repro", "cause", "fix", "validation"] {
        assert_eq!(shown["preconditions"][precondition], true, "{precondition}");
    }
    let log = repo.git(&["log", "--notes=incident-lines", "--format=%s|%N"]);
    assert!(log.contains("Subtract the maximum before exp in softmax|incident"), "{log}");
    assert!(
        log.contains(": fix (attempt 3)")
            && log.contains(": failed (attempt 2: ")
            && log.contains(": offending"),
        "{log}"
    );
    assert!(!log.contains("related"), "{log}");
}

#[test]
fn its_post_mortem_and_pull_request_are_made_from_the_record() {
    let home = Repo::new();
    let scene = home.root().join("scene");
    let view = home.incident_json(&["demo", &scene.display().to_string()]);
    let text = std::fs::read_to_string(scene.join(view["postmortem"].as_str().unwrap())).unwrap();
    let headings: Vec<&str> = text.lines().filter_map(|l| l.strip_prefix("## ")).collect();
    assert_eq!(
        headings,
        [
            "Summary",
            "Symptom",
            "Root cause",
            "Why it produced the symptom",
            "Fix",
            "How it was found",
            "Why it slipped through",
            "Validation",
            "Action items"
        ]
    );
    assert!(text.contains("5 of 5 runs") && text.contains("0 of 5 runs"), "counts come from recorded runs");
    assert!(text.contains("> **Gap:**"), "what nobody recorded stays visible");
    let request = view["pr"].as_str().unwrap();
    let order = [
        "Title: ",
        "## Summary",
        "## Root Cause",
        "## Changes",
        "## Testing",
        "## Attempts Ruled Out",
        "\nIncident: ",
    ];
    let mut at = 0;
    for part in order {
        at += request[at..]
            .find(part)
            .unwrap_or_else(|| panic!("{part} comes later than it should in:\n{request}"));
    }
    assert!(!request.contains("Performance"), "no figures were recorded");
    assert!(request.trim_end().lines().last().unwrap().starts_with("Incident: "), "the trailer is last");
}

#[test]
fn a_directory_with_something_in_it_is_left_alone() {
    let home = Repo::new();
    home.write("kept/file", "mine\n");
    home.incident(&["demo", "kept"]).expect(1).says("is not empty");
    assert_eq!(home.read("kept/file"), "mine\n");
}
