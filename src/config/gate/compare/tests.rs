use crate::config::{self, Policy};

fn gate(keys: &str) -> String {
    format!("[[gate]]\nid = \"a\"\nkind = \"compare\"\nrun = \"x\"\n{keys}\n")
}

fn said(text: &str) -> String {
    let error = config::parse(text.as_bytes(), "conf").expect_err(text);
    [vec![error.what().to_owned()], error.causes().to_vec(), error.hints().to_vec()].concat().join("\n")
}

fn digest(keys: &str) -> String {
    config::parse(gate(keys).as_bytes(), "conf").unwrap_or_else(|e| panic!("{keys}: {e}")).gates[0].digest()
}

#[test]
fn places_have_their_defaults() {
    let read = |keys: &str| config::parse(gate(keys).as_bytes(), "conf").unwrap().gates[0].compare.clone();
    let both = read("cases = [\"s512-causal\"]\nstages = [\"S\", \"P\"]");
    assert_eq!(both.place("reference").unwrap(), "{case}/{stage}.safetensors:reference");
    assert_eq!(both.place("candidate").unwrap(), "{case}/{stage}.safetensors:candidate");
    assert_eq!((both.place("baseline"), both.place("scale")), (None, None));
    let baseline = read("stages = [\"O\"]\npolicy = \"baseline\"");
    assert_eq!(baseline.place("baseline").unwrap(), "{stage}.safetensors:baseline");
    assert_eq!(baseline.policy, Some(Policy::Baseline));
    let files = read("reference = \"r.npy\"\ncandidate = \"out/c.npz:o\"");
    assert_eq!(files.place("candidate").unwrap(), "out/c.npz:o");
    assert!(read("cases = [\"*\"]\nreference = \"r.npy\"\ncandidate = \"{case}/o.npy\"").any_case());
}

#[test]
fn what_would_check_nothing_is_refused() {
    let files = "reference = \"r\"\ncandidate = \"c\"\n";
    for (keys, says) in [
        ("", "needs \"reference\""),
        ("reference = \"r\"", "needs \"candidate\""),
        ("policy = \"baseline\"\nreference = \"r\"\ncandidate = \"c\"", "needs \"baseline\""),
        ("reference = \"../r\"\ncandidate = \"c\"", "must stay inside"),
        ("reference = \"/r\"\ncandidate = \"c\"", "must be relative"),
        ("reference = \"r:\"\ncandidate = \"c\"", "must name a tensor"),
        ("reference = \"r\"\ncandidate = \"c{case}\"", "stands for nothing here"),
        ("reference = \"r\"\ncandidate = \"c{rank}\"", "add gpus"),
        ("reference = \"r\"\ncandidate = \"c{head}\"", "unknown placeholder"),
        ("reference = \"r\"\ncandidate = \"c{\"", "unknown placeholder"),
        ("cases = []", "nothing would be compared"),
        ("cases = [\"a\", \"a\"]", "twice"),
        ("cases = [\"../a\"]", "must be a name"),
        ("cases = [\"*\", \"a\"]", "beside names"),
        ("cases = [\"*\"]\ncandidate = \"{case}.npy\"\nreference = \"r\"", "begins with {case}/"),
        ("cases = [\"a\"]\ncandidate = \"c\"\nreference = \"r\"", "the same for all cases"),
        ("stages = [\"*\"]", "must be a name"),
        ("stages = [\"S\"]\ncandidate = \"c\"\nreference = \"r\"", "the same for all stages"),
        (&format!("{files}dtype = \"flaot32\""), "did you mean \"float32\"?"),
        (&format!("{files}dtype = \"spaghetti\""), "there are: f64"),
        (&format!("{files}shape = [2]"), "needs \"dtype\""),
        (&format!("{files}dtype = \"f32\"\nshape = [-1]"), "whole numbers"),
        (&format!("{files}dtype = \"f32\"\nshape = 3"), "write shape = "),
        (&format!("{files}block = [1, 128]"), "needs \"scale\""),
        (&format!("{files}scale = \"s\"\nblock = [0]"), "none below 1"),
        (&format!("{files}slack = 1e-3"), "with policy \"baseline\" only"),
        (&format!("{files}baseline = \"b\""), "with policy \"baseline\" only"),
        (&format!("{files}policy = \"bitwise\"\natol = 0"), "has no meaning with policy \"bitwise\""),
        (&format!("{files}policy = \"baseline\"\nbaseline = \"b\"\nrtol = 0"), "is \"slack\""),
        (&format!("{files}equal-nan = 1"), "must be true or false"),
        (&format!("{files}worst = 0"), "between 1 and 1000"),
        (&format!("{files}norm = -1.0"), "must not be negative"),
        (&format!("{files}case = [\"a\"]"), "did you mean \"cases\"?"),
    ] {
        let said = said(&gate(keys));
        assert!(said.contains(says), "{keys}\n{said}\nlacks {says}");
    }
    assert!(
        said("[[gate]]\nid='a'\nkind='command'\nrun='x'\nstages=['S']\n")
            .contains("has no meaning for a gate")
    );
}

#[test]
fn a_digest_follows_every_value() {
    let base = "stages = [\"S\", \"P\"]\ncases = [\"a\", \"b\"]\natol = 1e-2\n";
    assert_eq!(digest(base), digest("cases = [\"b\", \"a\"]\natol = 0.01\nstages = [\"S\", \"P\"]\n"));
    let mut all = vec![digest(base), digest(&base.replace("\"S\", \"P\"", "\"P\", \"S\""))];
    for more in
        ["norm = 1e-3", "equal-nan = true", "worst = 9", "scale = \"{case}/s.npy\"", "dtype = \"bf16\""]
    {
        all.push(digest(&format!("{base}{more}\n")));
    }
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 7);
    let named = "reference = \"r\"\ncandidate = \"c\"\nshape = [4]\ndtype = ";
    assert_eq!(digest(&format!("{named}\"torch.float32\"")), digest(&format!("{named}\"<f4\"")));
}
