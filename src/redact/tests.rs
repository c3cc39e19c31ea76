//! Secrets made at run time, so that this file holds nothing that a scanner would find.

use proptest::prelude::*;

use super::*;

const ALNUM: &[u8] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
const HEX: &[u8] = b"0123456789abcdef";
const UPPER: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/// Characters that look random and are the same in every run.
fn noise(length: usize, alphabet: &[u8]) -> String {
    let mut state = 0x2545_F491_4F6C_DD1D_u64 ^ length as u64;
    (0..length)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            char::from(alphabet[(state % alphabet.len() as u64) as usize])
        })
        .collect()
}

fn alnum(length: usize) -> String {
    noise(length, ALNUM)
}

fn uuid() -> String {
    let hex = noise(32, HEX);
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
}

/// Rule, what stands before the secret, the secret, what stands behind it.
fn samples() -> Vec<(&'static str, String, String, &'static str)> {
    let mut samples = Vec::new();
    let mut add =
        |rule, before: &str, secret: String, after| samples.push((rule, before.to_owned(), secret, after));
    add("age-key", "", ["AGE-SECRET-", "KEY-1"].concat() + &noise(58, UPPER), "");
    for prefix in ["AKIA", "ASIA"] {
        add("aws-access-key-id", "id: ", prefix.to_owned() + &noise(16, UPPER), ",");
    }
    add("aws-secret-key", "export AWS_SECRET_ACCESS_KEY=", alnum(40), "");
    add("aws-secret-key", "\"SecretAccessKey\": \"", alnum(40), "\",");
    add("aws-secret-key", "\\\"aws_session_token\\\": \\\"", alnum(300), "\\\"");
    for kind in ["p", "o", "u", "s", "r"] {
        add("github-token", "remote: ", format!("gh{kind}_{}", alnum(36)), " rejected");
    }
    add("github-pat", "", format!("github_pat_{}_{}", alnum(22), alnum(59)), "");
    for kind in ["pat", "dt", "rt", "cbt", "soat"] {
        add("gitlab-token", "PRIVATE: ", format!("gl{kind}-{}", alnum(20)), "");
    }
    for kind in ["b", "p", "a", "s"] {
        add("slack-token", "", format!("xox{kind}-1234567890-{}", alnum(24)), "");
    }
    add("slack-token", "", format!("xapp-1-A01-{}", alnum(40)), "");
    add("slack-webhook", "https://hooks.slack.com/services/", format!("T0/B0/{}", alnum(24)), " ok");
    add("discord-webhook", "https://discord.com/api/webhooks/12345678/", alnum(68), "");
    add("google-api-key", "?key=", format!("AIza{}", alnum(35)), "&x=1");
    add("google-oauth", "token ", format!("ya29.{}", alnum(60)), "");
    add("google-oauth", "", format!("GOCSPX-{}", alnum(28)), "");
    add("azure-storage-key", "AccountName=x;AccountKey=", alnum(86) + "==", ";EndpointSuffix=y");
    add("azure-sas", "https://x.blob.core.windows.net/c?sv=1&sig=", alnum(43) + "%3D", "&se=2");
    add("azure-client-secret", "value ", format!("abc8Q~{}", alnum(34)), "");
    add("azure-devops-pat", "", alnum(76) + "AZDO" + "a1b2", "");
    add("anthropic-key", "", format!("sk-ant-api03-{}", alnum(95)), "");
    add("openai-key", "", format!("sk-proj-{}", alnum(60)), "");
    add("openai-key", "\x1b[32m", format!("sk-{}", alnum(48)), "\x1b[0m");
    add("openai-key", "text\\n", format!("sk-{}", alnum(48)), "\\nmore");
    add("huggingface-token", "login ", format!("hf_{}", alnum(34)), ".");
    add("npm-token", "//registry/:_authToken=", format!("npm_{}", alnum(36)), "");
    add("npmrc-auth", "//registry/:_authToken=", uuid(), "");
    add("pypi-token", "", format!("pypi-A{}", alnum(150)), "");
    add("crates-io-token", "cargo login ", format!("cio{}", alnum(32)), "");
    add("docker-token", "", format!("dckr_pat_{}", alnum(27)), "");
    add("stripe-key", "", format!("sk_live_{}", alnum(24)), "");
    add("stripe-key", "", format!("whsec_{}", alnum(32)), "");
    add("shopify-token", "", format!("shpat_{}", noise(32, HEX)), "");
    add("twilio-key", "twilio auth ", noise(32, HEX), "");
    add("sendgrid-key", "", format!("SG.{}.{}", alnum(22), alnum(43)), "");
    add("digitalocean-token", "", format!("dop_v1_{}", noise(64, HEX)), "");
    add("heroku-key", "HEROKU_API_KEY=", uuid(), "");
    add("cloudflare-key", "CF_API_TOKEN=", alnum(40), "");
    add("datadog-key", "DD_API_KEY: ", noise(32, HEX), "");
    add("grafana-token", "", format!("glsa_{}_{}", alnum(32), noise(8, HEX)), "");
    add("nvidia-ngc-key", "NGC_API_KEY ", format!("nvapi-{}", alnum(64)), "");
    add("wandb-key", "WANDB_API_KEY=", noise(40, HEX), "");
    add("wandb-key", "wandb login ", noise(40, HEX), "");
    add("groq-key", "", format!("gsk_{}", alnum(52)), "");
    add("jwt", "cookie=", format!("eyJ{}.eyJ{}.{}", alnum(20), alnum(40), alnum(43)), ";");
    add("terraform-token", "", format!("{}.atlasv1.{}", alnum(14), alnum(67)), "");
    add("vault-token", "", format!("hvs.{}", alnum(90)), "");
    add("databricks-token", "", format!("dapi{}", noise(32, HEX)), "");
    add("tailscale-key", "", format!("tskey-auth-{}-{}", alnum(12), alnum(32)), "");
    add("linear-key", "", format!("lin_api_{}", alnum(40)), "");
    add("rubygems-key", "", format!("rubygems_{}", noise(48, HEX)), "");
    add("square-token", "", format!("sq0atp-{}", alnum(22)), "");
    add("mailgun-key", "MAILGUN: ", format!("key-{}", noise(32, HEX)), "");
    add("newrelic-key", "", format!("NRAK-{}", noise(27, UPPER)), "");
    add("sentry-token", "", format!("sntrys_{}", alnum(60)), "");
    add("replicate-token", "", format!("r8_{}", alnum(37)), "");
    add("xai-key", "", format!("xai-{}", alnum(80)), "");
    add("perplexity-key", "", format!("pplx-{}", alnum(48)), "");
    add("pulumi-token", "", format!("pul-{}", noise(40, HEX)), "");
    add("doppler-token", "", format!("dp.pt.{}", alnum(43)), "");
    add("fly-token", "", format!("fo1_{}", alnum(43)), "");
    add("figma-token", "", format!("figd_{}", alnum(40)), "");
    add("postman-key", "", format!("PMAK-{}-{}", noise(24, HEX), noise(34, HEX)), "");
    add("atlassian-token", "", format!("ATATT3x{}", alnum(180)), "");
    add("supabase-key", "", format!("sbp_{}", noise(40, HEX)), "");
    add("notion-token", "", format!("ntn_{}", alnum(46)), "");
    add("telegram-bot-token", "bot ", format!("123456789:AA{}", alnum(33)), "");
    add("url-password", "git clone https://user:", alnum(8), "@host.example/x.git");
    add("url-password", "postgres://app:", "p@ss:w0rd".into(), "@db:5432/x");
    add("url-password", "redis://:", "hunter2".into(), "@cache:6379");
    add("authorization", "Authorization: Bearer ", alnum(20), "");
    add("authorization", "-H 'authorization: Basic ", alnum(12) + "==", "'");
    add("authorization", "{\\\"Authorization\\\": \\\"token ", alnum(16), "\\\"}");
    add("bearer-token", "sent bearer ", alnum(32), " to host");
    add("netrc-password", "machine x login y password ", "short1".into(), "");
    add("netrc-password", "machine x\n  login y\n  password ", "short1".into(), "\n");
    add("command-line-secret", "mysql --password ", alnum(10), " -h x");
    add("command-line-secret", "tool --api-key=", alnum(10), "");
    add("assigned-secret", "DB_PASSWORD=", alnum(20), "");
    add("assigned-secret", "\"client_secret\" : \"", alnum(24), "\"");
    add("assigned-secret", "api-key: '", alnum(24), "'");
    add("assigned-secret", "let token: &str = \"", alnum(24), "\";");
    add("assigned-secret", "secret := `", alnum(24), "`");
    add("assigned-secret", "password: \"", "wrong-zebra-umbrella-picnic".into(), "\"");
    add("assigned-secret", "https://host/?access_token=", alnum(24), "&page=2");
    samples
}

#[test]
fn every_sample_is_found_where_it_is_and_cut_whole() {
    for (rule, before, secret, after) in samples() {
        for ending in ["", "\n", "\r\n"] {
            let text = format!("first line{ending}\n{before}{secret}{after}{ending}");
            let found = scan(text.as_bytes());
            assert_eq!(found.len(), 1, "{text:?}: {found:?}");
            let start = text.rfind(&secret).unwrap();
            assert_eq!(
                (found[0].rule, found[0].start, found[0].end),
                (rule, start, start + secret.len()),
                "{text:?}"
            );
            let line_start = text[..start].rfind('\n').unwrap() + 1;
            assert_eq!(found[0].column as usize, start - line_start + 1);
            assert_eq!(found[0].line as usize, text[..start].matches('\n').count() + 1);
            let (redacted, _) = redact_str(&text);
            assert_eq!(redacted, format!("first line{ending}\n{before}[redacted:{rule}]{after}{ending}"));
        }
    }
}

#[test]
fn every_rule_is_sound() {
    for rule in rules::RULES {
        assert!(
            regex::bytes::RegexBuilder::new(rule.pattern).unicode(false).build().is_ok(),
            "{}",
            rule.name
        );
        assert!(
            rule.name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
        );
        assert!(rule.anchors.iter().all(|anchor| anchor.len() >= 3 && **anchor == anchor.to_lowercase()));
        let marker = format!("token=\"[redacted:{}]\" https://a:[redacted:{}]@b", rule.name, rule.name);
        assert_eq!(scan(marker.as_bytes()), [], "{marker}");
    }
    let tested: std::collections::BTreeSet<_> = samples().into_iter().map(|sample| sample.0).collect();
    for rule in rules::RULES {
        assert!(rule.name == "private-key" || tested.contains(rule.name), "no sample of {}", rule.name);
    }
}

#[test]
fn harmless_lines_are_left_alone() {
    let (sha1, sha256) = (noise(40, HEX), noise(64, HEX));
    let lines = [
        format!("commit {sha1}"),
        format!("tree {sha1} parent {sha1}"),
        format!("index {}..{} 100644", &sha1[..12], &sha1[10..22]),
        format!("{sha256}  target/release/app"),
        format!("sha256:{sha256}"),
        format!("token_sha256 = \"{sha256}\""),
        format!("secret-digest: sha256:{sha256}"),
        format!("password commit={sha1}"),
        format!("private_oid: {sha1}"),
        format!("wandb: run commit {sha1} synced"),
        format!("request-id: {}", uuid()),
        format!("token_id={}", uuid()),
        format!("disk-{sha1} task-{sha1} mask-{sha1}"),
        "CUDA error: an illegal memory access at 0x7f3a2c000000".into(),
        "private_base = 0x00007f3a2c0000001234".into(),
        "========= Invalid __global__ write of size 4 bytes at kernel+0x1f0 in softmax.cu:42".into(),
        "_ZN7cutlass13device_kernelIN4cute10tokenStateILi128ELi64EEEvNT_6ParamsE".into(),
        "ptxas info : Compiling entry function '_Z12token_kernelPfS_iPKcS1_' for 'sm_90a'".into(),
        "E       AssertionError: assert token == 'abcDEF123456ghiJKL789'".into(),
        "tests/test_secret.py::test_token[param-long_Value1-other_Value2] PASSED [ 42%]".into(),
        "token = self.tokenizer.encode_as_ids2x(prompt)[0]".into(),
        "password = getpass.getpass_from_terminal2a9x8()".into(),
        "tokens/s: 12345.678901234567  secret_count: 00000000000000000001".into(),
        "max_new_tokens=1024, pad_token_id=50256, token_type_ids=[0, 0, 0, 1]".into(),
        "tokenizer: meta-llama/Llama-3.1-8B-Instruct-4bit-x9y8z7w6".into(),
        "TOKEN_FILE=/run/secrets/f8a2k3m9x7c1v5b0q".into(),
        "secret: /run/secrets/database-password-2".into(),
        "token: ${CI_JOB_TOKEN_A8F3K2M9}".into(),
        "api_key = \"your-api-key-goes-here-a8f3\"".into(),
        "GITHUB_TOKEN: ${{ secrets.GITHUB_TOKEN }}".into(),
        "password=xxxxxxxxxxxxxxxxxxxxxxxx".into(),
        format!("ghp_{} is what a token looks like", "x".repeat(36)),
        "https://user:${PASSWORD}@host/ https://user:***@host/ https://<user>:<password>@host".into(),
        "ssh://git@host.example:22/repo tcp://127.0.0.1:29500 http://[::1]:8080/a@b".into(),
        "git@github.com:owner/repo.git file:///home/x/y@z:1".into(),
        "Authorization: Bearer $TOKEN".into(),
        "the bearer of this-letter-is-not-a-secret-at-all knows".into(),
        "password incorrect".into(),
        "enter password below".into(),
        "asyncio.exceptions.CancelledErrorInTheMiddleOfSomethingLong".into(),
        "msg.payload.SG.short".into(),
        "-----BEGIN CERTIFICATE-----".into(),
        format!("ssh-rsa {} user@host", alnum(372)),
        "if text.startswith('-----BEGIN RSA PRIVATE KEY-----'):".into(),
        "HEADER = '-----BEGIN PRIVATE KEY-----'\nFOOTER = '-----END PRIVATE KEY-----'".into(),
        "00000000: eyJ is not enough aa:aa:aa:bb".into(),
        format!("GIT binary patch\nliteral 20\n{}\n\nliteral 0\nHcmV?d00001\n\n", patch_line()),
    ];
    for line in lines {
        let found = scan(line.as_bytes());
        assert!(found.is_empty(), "{line}: {found:?}");
        assert!(matches!(redact(line.as_bytes()).bytes, Cow::Borrowed(_)));
    }
}

/// Twenty bytes of a binary patch that by bad luck spell an access key.
fn patch_line() -> String {
    format!("T{}{}", ["AK", "IA"].concat(), noise(16, UPPER) + "=+=+=")
}

#[test]
fn a_heading_does_not_hide_what_is_no_patch() {
    let key = &patch_line()[1..21];
    for text in [
        format!("GIT binary patch\nliteral 20\n{key}\n"),
        format!("GIT binary patch\nliteral 0\nHcmV?d00001\n\nkey {key}\n"),
        format!("GIT binary patch\nliteral 20\n{}\n", patch_line().replacen('T', " ", 1)),
    ] {
        assert_eq!(scan(text.as_bytes()).len(), 1, "{text}");
    }
}

fn key(label: &str, prefix: &str, ending: &str) -> String {
    let body = alnum(64 * 3 + 20);
    let mut lines = vec![format!("-----BEGIN {label}-----")];
    lines.extend(body.as_bytes().chunks(64).map(|chunk| String::from_utf8(chunk.to_vec()).unwrap()));
    lines.push(format!("-----END {label}-----"));
    lines.into_iter().fold(String::new(), |text, line| text + prefix + &line + ending)
}

#[test]
fn key_blocks_go_and_their_lines_stay() {
    let kinds =
        ["PRIVATE KEY", "RSA PRIVATE KEY", "OPENSSH PRIVATE KEY", "EC PRIVATE KEY", "PGP PRIVATE KEY BLOCK"];
    for label in kinds {
        for prefix in ["", "+", "    ", "> "] {
            for ending in ["\n", "\r\n"] {
                let text = format!("before{ending}{}after{ending}", key(label, prefix, ending));
                let redacted = redact(text.as_bytes());
                assert_eq!(redacted.found.len(), 1);
                let marker = format!("{prefix}[redacted:private-key]{ending}");
                let expected = format!("before{ending}{}after{ending}", marker.repeat(6));
                assert_eq!(String::from_utf8_lossy(&redacted.bytes), expected, "{label} {prefix:?}");
            }
        }
    }
    let json = format!("{{\"private_key\": \"{}\", \"a\": 1}}", key("PRIVATE KEY", "", "\\n"));
    let (redacted, _) = redact_str(&json);
    assert_eq!(redacted, "{\"private_key\": \"[redacted:private-key]\\n\", \"a\": 1}");
}

#[test]
fn a_key_cut_off_goes_too() {
    let whole = key("RSA PRIVATE KEY", "", "\n");
    let body = whole.lines().nth(1).unwrap();
    for text in [
        whole.lines().take(4).fold(String::new(), |text, line| text + line + "\n"),
        key("PRIVATE KEY", "[12:00:01] ", "\n").lines().take(3).collect::<Vec<_>>().join("\n"),
        format!(
            "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\n{body}\ndone."
        ),
        key("PRIVATE KEY", "", "\\n").split("-----END").next().unwrap().to_owned(),
    ] {
        let (redacted, found) = redact_str(&text);
        assert_eq!(found.len(), 1, "{text}");
        assert!(!redacted.contains(&body[..16]), "{redacted}");
        assert_eq!(redacted.lines().count(), text.lines().count());
    }
}

#[test]
fn an_allowed_finding_stays_and_nothing_else() {
    let (one, two) = (format!("hf_{}", alnum(34)), format!("hf_{}", alnum(35)));
    let text = format!("a {one}\nb {two}\n");
    let allow: AllowedFinding = "huggingface-token:1:3".parse().unwrap();
    let redacted = redact_except(text.as_bytes(), &[allow]);
    assert_eq!(redacted.bytes, format!("a {one}\nb [redacted:huggingface-token]\n").as_bytes());
    assert_eq!(redacted.allowed[0].to_string(), "huggingface-token:1:3");
    assert_eq!(redacted.found[0].to_string(), "huggingface-token:2:3");
    for wrong in ["", "jwt", "jwt:1", "jwt:0:1", "jwt:1:1:1", "nothing:1:1", "jwt:-1:1", "jwt:x:1"] {
        assert!(wrong.parse::<AllowedFinding>().is_err(), "{wrong}");
    }
}

#[test]
fn what_was_found_once_is_cut_everywhere() {
    let secret = alnum(24);
    let text = format!("DB_PASSWORD={secret}\nconnecting with x{secret}y\n");
    let (redacted, found) = redact_str(&text);
    assert_eq!(found.len(), 2);
    assert!(!redacted.contains(&secret));
}

#[test]
fn neighbours_uncovered_by_a_cut_go_too() {
    let text = format!("AKIA{}sk-{}", noise(16, UPPER), alnum(48));
    let text = format!("{text} AKIA{} sk-{}", noise(16, UPPER), alnum(48));
    let (redacted, _) = redact_str(&text);
    assert!(!redacted.contains(&alnum(48)), "{redacted}");
}

#[test]
fn long_lines_and_many_anchors_end() {
    // Quadratic work on any of these would take minutes.
    let token = format!("x hf_{} ", alnum(34));
    for part in [
        "sk-",
        "token=",
        "eyJ",
        "://a:",
        "-----BEGIN RSA PRIVATE KEY-----",
        "a: -----BEGIN PRIVATE KEY-----\n",
        "password ",
        "task-",
        &token,
    ] {
        let text = part.repeat(1_000_000 / part.len());
        let redacted = redact(text.as_bytes());
        assert_eq!(redacted.found.is_empty(), !part.contains("hf_"), "{part}");
    }
}

/// Text made of what rules react to.
fn provoking() -> impl Strategy<Value = Vec<u8>> {
    let pieces: Vec<Vec<u8>> = samples()
        .into_iter()
        .flat_map(|(_, before, secret, after)| {
            let half = secret[..secret.len() / 2].to_owned();
            [before.clone() + &secret + after, before, secret, half, after.to_owned()]
        })
        .chain([
            key("RSA PRIVATE KEY", "+", "\r\n"),
            key("PRIVATE KEY", "", "\n"),
            "\n".into(),
            "\r\n".into(),
            " ".into(),
        ])
        .chain([
            "\n".into(),
            "=".into(),
            "\0".into(),
            ":".into(),
            "@".into(),
            "\"".into(),
            "[redacted:jwt]".into(),
            "-----BEGIN PRIVATE KEY-----\n".into(),
        ])
        .chain([
            "[redacted:".into(),
            "]".into(),
            "//x:".into(),
            "password ".into(),
            "token".into(),
            "é".into(),
            "GIT binary patch\nliteral 3\n".into(),
        ])
        .map(String::into_bytes)
        .collect();
    let piece = prop_oneof![4 => prop::sample::select(pieces), 1 => prop::collection::vec(any::<u8>(), 0..4)];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

fn newlines(bytes: &[u8]) -> usize {
    bytes.split(|&byte| byte == b'\n').count()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn redaction_holds_its_promises(bytes in provoking()) {
        let redacted = redact(&bytes);
        prop_assert_eq!(newlines(&redacted.bytes), newlines(&bytes), "lines stay");
        let again = redact(&redacted.bytes);
        prop_assert!(again.found.is_empty(), "{:?} in {:?}", again.found, String::from_utf8_lossy(&redacted.bytes));
        for pair in redacted.found.windows(2) {
            prop_assert!(pair[0].end <= pair[1].start);
        }
        for found in &redacted.found {
            let secret = &bytes[found.start..found.end];
            let is_line = !secret.contains(&b'\n') && !secret.contains(&0);
            if is_line && (12..1025).contains(&secret.len()) && !secret.starts_with(b"[redacted:") {
                prop_assert!(!redacted.bytes.windows(secret.len()).any(|window| window == secret), "{found} is still there");
            }
        }
        if let Ok(text) = std::str::from_utf8(&bytes) {
            let (as_text, _) = redact_str(text);
            prop_assert_eq!(as_text.as_bytes(), &redacted.bytes[..]);
        }
    }

    #[test]
    fn never_panics(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let redacted = redact(&bytes);
        prop_assert_eq!(newlines(&redacted.bytes), newlines(&bytes));
    }
}
