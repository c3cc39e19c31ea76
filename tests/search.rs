//! `search`, driven as people and programs use it.

mod common;

use common::Repo;

fn fields(view: &serde_json::Value) -> Vec<(String, String)> {
    let matches = view["matches"].as_array().expect("matches");
    matches
        .iter()
        .map(|m| {
            (
                m["field"].as_str().unwrap_or_default().to_owned(),
                m["snippet"].as_str().unwrap_or_default().to_owned(),
            )
        })
        .collect()
}

fn filled() -> Repo {
    let repo = Repo::new();
    repo.write("kernels/attn.cu", "one\n");
    repo.commit("Start");
    repo.typed(
        "open 'Rows are wrong in flash_fwd' --ticket GPU-1 --label flaky --environment 'H100, driver 570'",
    )
    .expect(0);
    repo.typed("attempt start -H 'the last tile is not masked'").expect(0);
    repo.typed("attempt note 'CUDA error: an illegal memory access was encountered'").expect(0);
    repo.typed("attempt end --failed -m 'with the mask the error is the same'").expect(0);
    repo.typed("open 'Training hangs after an hour' --ticket NET-2").expect(0);
    repo.typed("attempt start -H 'the driver drops the NVLink'").expect(0);
    repo.typed("attempt end --worked -m 'new driver, no hang for a day'").expect(0);
    repo.typed("close --wont-fix -m 'replaced by the vendor'").expect(0);
    repo
}

#[test]
fn words_phrases_filters_and_pages() {
    let repo = filled();
    let found = |query: &[&str]| {
        let mut all = vec!["search"];
        all.extend(query);
        let view = repo.incident_json(&all);
        assert_eq!(
            view["total"].as_u64().expect("a total") as usize,
            fields(&view).len(),
            "{query:?}: {view}"
        );
        fields(&view).len()
    };
    assert_eq!(found(&["masked"]), 1);
    assert_eq!(found(&["\"illegal memory access\""]), 1);
    assert_eq!(found(&["\"memory illegal\""]), 0);
    assert_eq!(found(&["driver"]), 2);
    assert_eq!(found(&["driver", "-nvlink"]), 1, "the environment alone");
    assert_eq!(found(&["driver", "not:nvlink"]), 1);
    assert_eq!(found(&["status:open"]), 2);
    assert_eq!(found(&["status:wont-fix", "hang"]), 2);
    assert_eq!(found(&["outcome:refuted"]), 1);
    assert_eq!(found(&["label:flaky", "mask"]), 1);
    assert_eq!(found(&["gpu:h100"]), 2);
    assert_eq!(found(&["author:ada"]), 4);
    assert_eq!(found(&["author:grace"]), 0);
    assert_eq!(found(&["incident:NET-2"]), 2);
    assert_eq!(found(&["kernel:flash_fwd"]), 1);
    assert_eq!(found(&["kernel:flash"]), 0);
    assert_eq!(found(&["since:1d", "driver"]), 2);
    assert_eq!(found(&["until:2001-01-01", "driver"]), 0);
    assert_eq!(found(&["-status:open", "driver"]), 1);

    let first = repo.incident_json(&["search", "author:ada", "--limit", "3"]);
    let second = repo.incident_json(&["search", "author:ada", "--limit", "3", "--page", "2"]);
    let third = repo.incident_json(&["search", "author:ada", "--limit", "3", "--offset", "3"]);
    assert_eq!((fields(&first).len(), fields(&second).len()), (3, 1));
    assert_eq!(second["matches"], third["matches"]);
    assert_eq!(first["total"], 4);
    repo.typed("search nothing-like-this").expect(0).says("nothing found");
}

#[test]
fn what_is_wrong_with_a_query_is_said() {
    let repo = filled();
    for query in ["\"open", "stauts:open", "status:opened", "since:soon", "...", "label:"] {
        let ran = repo.incident(&["search", query]);
        ran.refuses(2);
    }
    repo.incident(&["search", "x", "--limit", "0"]).expect(2);
    // What FTS5 would take for its own language is text.
    for query in [
        "a AND OR",
        "NEAR(a b)",
        "title:x OR",
        "x*",
        "^x",
        "a + b",
        "{x} : y",
        "it's",
        "§status§open",
        "'; DROP TABLE doc; --",
    ] {
        let status = repo.incident(&["search", "--", query]).status;
        assert!(status == 0 || status == 2, "{query}: {status}");
    }
    assert_eq!(repo.incident_json(&["search", "§status§open"])["total"], 0, "marks are no words");
}

#[test]
fn nothing_foreign_reaches_the_terminal() {
    let repo = Repo::new();
    repo.commit("Start");
    repo.incident(&["open", "red \u{1b}[31m alarm \u{202e} rows"]).expect(0);
    let ran = repo.incident(&["search", "alarm"]).expect(0);
    assert!(!ran.stdout.contains('\u{1b}') && ran.stdout.contains("^[[31m"), "{}", ran.stdout);
    // The index holds it as the ledger does.
    let view = repo.incident_json(&["search", "alarm"]);
    assert!(view["matches"][0]["snippet"].as_str().expect("text").contains('\u{1b}'));
}
