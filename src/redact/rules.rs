//! The table of rules: one entry per kind of secret.
//!
//! To add one, write an entry: a name (it becomes part of `[redacted:<name>]` and of
//! `--allow-secret <name>:line:column`), anchors (words of three bytes or more, any case, one of which
//! stands in every line that the rule can match) and a pattern. What is cut is the first capture group
//! that matched, else the whole match. Patterns see one line without its ending; they must not look
//! past their own match, which keeps scanning linear. Negated classes exclude `\x00`, which stands for
//! what is cut already. The first entry that matches names a finding, so special shapes come first.

use super::filters;

/// One kind of secret.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// Small letters, digits and dashes.
    pub name: &'static str,
    /// Words without which no line is looked at, in any case.
    pub anchors: &'static [&'static str],
    /// A regular expression over bytes, or nothing for the rule that reads whole key blocks.
    pub(super) pattern: &'static str,
    /// Bits per byte below which a value is a stand-in.
    pub(super) min_entropy: f64,
    /// The last word on a match.
    pub(super) accepts: fn(&Match<'_>) -> bool,
}

/// A match, for a rule's own judgement.
#[derive(Debug)]
pub(super) struct Match<'a> {
    /// Everything before the line that the match is in.
    pub(super) before: &'a [u8],
    /// The line.
    pub(super) line: &'a [u8],
    /// Where the pattern began to match in the line.
    pub(super) from: usize,
    /// Where the secret stands in the line.
    pub(super) secret: std::ops::Range<usize>,
}

impl Match<'_> {
    fn value(&self) -> &[u8] {
        &self.line[self.secret.clone()]
    }
}

/// What may stand before a token that begins with an ordinary word: nothing, no letter or digit, an
/// escape in a JSON string, the end of a colour, a byte escaped in a URL.
macro_rules! left {
    () => {
        r"(?:^|[^A-Za-z0-9]|\\[nrt]|\x1b\[[0-9;]*m|%[0-9A-Fa-f]{2})"
    };
}

/// Between a name and its value: quotes (also escaped ones), a type, an equals sign or a colon.
macro_rules! assign {
    () => {
        r#"\\{0,3}["']?(?:[ \t]*:[ \t]*[&A-Za-z_]{1,20})?[ \t]*(?:=>|:=|=|:)[ \t]*\\{0,3}["'`]?"#
    };
}

/// A token that its own prefix gives away.
const fn token(name: &'static str, anchors: &'static [&'static str], pattern: &'static str) -> Rule {
    Rule { name, anchors, pattern, min_entropy: 2.5, accepts: |_| true }
}

/// A value that the words around it give away.
const fn value(name: &'static str, anchors: &'static [&'static str], pattern: &'static str) -> Rule {
    Rule {
        name,
        anchors,
        pattern,
        min_entropy: 2.5,
        accepts: |found| !filters::is_placeholder(found.value()),
    }
}

/// A secret of any strength in a place that is made for secrets.
const fn place(name: &'static str, anchors: &'static [&'static str], pattern: &'static str) -> Rule {
    Rule {
        name,
        anchors,
        pattern,
        min_entropy: 0.0,
        accepts: |found| !filters::is_placeholder(found.value()),
    }
}

/// Index of the rule that reads private key blocks.
pub(super) const KEY_BLOCK: usize = 0;

/// Every rule.
pub const RULES: &[Rule] = &[
    token("private-key", &["-----begin "], ""),
    token("age-key", &["age-secret-key-"], r"(AGE-SECRET-KEY-1[0-9A-Z]{40,})"),
    token(
        "aws-access-key-id",
        &["akia", "asia", "abia", "acca"],
        concat!(left!(), r"((?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16})\b"),
    ),
    value(
        "aws-secret-key",
        &["aws_s", "secretaccesskey", "secret_access_key", "sessiontoken", "session_token"],
        concat!(
            r"(?i:aws_?(?:session_?token|security_?token|secret_?(?:access_?)?key)|secret_?access_?key|session_?token)",
            assign!(),
            r"([A-Za-z0-9/+=]{30,})"
        ),
    ),
    token("github-token", &["ghp_", "gho_", "ghu_", "ghs_", "ghr_"], r"(gh[pousr]_[A-Za-z0-9_]{36,})"),
    token("github-pat", &["github_pat_"], r"(github_pat_[A-Za-z0-9_]{22,})"),
    token(
        "gitlab-token",
        &[
            "glpat-", "gldt-", "glrt-", "glrtr-", "glcbt-", "glptt-", "glft-", "glimt-", "glagent-",
            "glsoat-", "gloas-",
        ],
        r"(gl(?:pat|dt|rtr?|cbt|ptt|ft|imt|agent|soat|oas)-[A-Za-z0-9_.-]{20,})",
    ),
    token(
        "slack-token",
        &["xoxa-", "xoxb-", "xoxe", "xoxo-", "xoxp-", "xoxr-", "xoxs-", "xoxc-", "xoxd-", "xapp-"],
        r"((?:xox[abceoprsd](?:\.xox[bp])?-|xapp-\d-)[A-Za-z0-9%-]{10,})",
    ),
    token(
        "slack-webhook",
        &["hooks.slack.com/"],
        r"(?i:hooks\.slack\.com)/(?:services|workflows|triggers)/([A-Za-z0-9/_-]{20,})",
    ),
    token("discord-webhook", &["/api/webhooks/"], r"/api/webhooks/\d{5,}/([A-Za-z0-9_-]{40,})"),
    token("google-api-key", &["aiza"], r"(AIza[A-Za-z0-9_-]{35,})"),
    token(
        "google-oauth",
        &["ya29.", "gocspx-", "1//0"],
        concat!(left!(), r"(ya29\.[A-Za-z0-9_.-]{20,}|GOCSPX-[A-Za-z0-9_-]{20,}|1//0[A-Za-z0-9_-]{40,})"),
    ),
    token(
        "azure-storage-key",
        &["accountkey=", "sharedaccesskey="],
        r"(?i:AccountKey|SharedAccessKey)=([A-Za-z0-9+/]{40,}={0,2})",
    ),
    token("azure-sas", &["?sig=", "&sig=", ";sig="], r"[?&;]sig=([A-Za-z0-9%+/=_-]{32,})"),
    token(
        "azure-client-secret",
        &["0q~", "1q~", "2q~", "3q~", "4q~", "5q~", "6q~", "7q~", "8q~", "9q~"],
        concat!(left!(), r"([A-Za-z0-9_~.-]{3}\dQ~[A-Za-z0-9_~.-]{31,})"),
    ),
    token("azure-devops-pat", &["azdo"], r"([A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4})"),
    token("anthropic-key", &["sk-ant-"], r"(sk-ant-[A-Za-z0-9_-]{20,})"),
    token(
        "openai-key",
        &["sk-"],
        concat!(left!(), r"(sk-(?:(?:proj|svcacct|admin|None|or-v1)-[A-Za-z0-9_-]{20,}|[A-Za-z0-9]{20,}))"),
    ),
    token("huggingface-token", &["hf_", "api_org_"], concat!(left!(), r"((?:hf|api_org)_[A-Za-z0-9]{30,})")),
    token("npm-token", &["npm_"], concat!(left!(), r"(npm_[A-Za-z0-9]{36,})")),
    token("pypi-token", &["pypi-"], concat!(left!(), r"(pypi-A[A-Za-z0-9_-]{50,})")),
    token("crates-io-token", &["cio"], concat!(left!(), r"(cio[A-Za-z0-9]{32})\b")),
    token("rubygems-key", &["rubygems_"], r"(rubygems_[a-f0-9]{48})"),
    token("docker-token", &["dckr_pat_", "dckr_oat_"], r"(dckr_[po]at_[A-Za-z0-9_-]{20,})"),
    token(
        "stripe-key",
        &["sk_live_", "sk_test_", "rk_live_", "rk_test_", "whsec_"],
        concat!(left!(), r"((?:[sr]k_(?:live|test)_[A-Za-z0-9]{16,})|whsec_[A-Za-z0-9+/=]{24,})"),
    ),
    token("square-token", &["sq0atp-", "sq0csp-"], r"(sq0(?:atp|csp)-[A-Za-z0-9_-]{22,})"),
    token(
        "shopify-token",
        &["shpat_", "shpca_", "shppa_", "shpss_"],
        r"(shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32,})",
    ),
    value("twilio-key", &["twilio"], r"(?i:twilio)[^\r\n\x00]{0,64}?\b((?:SK)?[0-9a-f]{32})\b"),
    token("sendgrid-key", &["sg."], concat!(left!(), r"(SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{32,})")),
    value(
        "mailgun-key",
        &["mailgun"],
        r"(?i:mailgun)[^\r\n\x00]{0,64}?\b(key-[0-9a-z]{32}|[0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8})\b",
    ),
    token("digitalocean-token", &["dop_v1_", "doo_v1_", "dor_v1_"], r"(do[opr]_v1_[a-f0-9]{64})"),
    token("heroku-key", &["hrku-"], r"(HRKU-[A-Za-z0-9_-]{30,})"),
    value(
        "heroku-key",
        &["heroku"],
        r#"(?i:heroku)[^\r\n\x00]{0,40}?[:=][ \t"']*([0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})\b"#,
    ),
    value(
        "cloudflare-key",
        &["cloudflare", "cf_api", "v1.0-"],
        concat!(
            r"(?:(?i:cloudflare|cf)_?(?i:api_?)?(?i:token|key)",
            assign!(),
            r"([A-Za-z0-9_-]{37,})|(v1\.0-[a-f0-9]{24}-[a-f0-9]{100,}))"
        ),
    ),
    value(
        "datadog-key",
        &["dd_api", "dd_app", "dd-api", "datadog"],
        concat!(
            r"(?i:dd|datadog)[_-]?(?i:api|app(?:lication)?)[_-]?(?i:key)",
            assign!(),
            r"([a-f0-9]{32,40})\b"
        ),
    ),
    token("newrelic-key", &["nrak-"], concat!(left!(), r"(NRAK-[A-Z0-9]{27})")),
    token(
        "grafana-token",
        &["glsa_", "glc_"],
        concat!(left!(), r"(glsa_[A-Za-z0-9]{32}_[a-fA-F0-9]{8}|glc_[A-Za-z0-9+/=]{32,})"),
    ),
    token("sentry-token", &["sntrys_", "sntryu_"], r"(sntry[su]_[A-Za-z0-9+/=_-]{40,})"),
    token("nvidia-ngc-key", &["nvapi-"], r"(nvapi-[A-Za-z0-9_-]{20,})"),
    value(
        "wandb-key",
        &["wandb"],
        r#"(?:(?i:wandb[_-]?(?:api[_-]?)?key|wandb login(?: --relogin)?)["']?[\s:=]+["']?([0-9a-f]{40})\b|(wandb_v\d_[A-Za-z0-9_-]{40,}))"#,
    ),
    token("replicate-token", &["r8_"], concat!(left!(), r"(r8_[A-Za-z0-9]{37,})")),
    token("groq-key", &["gsk_"], concat!(left!(), r"(gsk_[A-Za-z0-9]{40,})")),
    token("xai-key", &["xai-"], concat!(left!(), r"(xai-[A-Za-z0-9]{60,})")),
    token("perplexity-key", &["pplx-"], concat!(left!(), r"(pplx-[A-Za-z0-9]{40,})")),
    token("jwt", &["eyj"], r"(eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}(?:\.[A-Za-z0-9_-]*){1,3})"),
    token("terraform-token", &[".atlasv1."], r"([A-Za-z0-9]{10,20}\.atlasv1\.[A-Za-z0-9_=-]{40,})"),
    token("pulumi-token", &["pul-"], concat!(left!(), r"(pul-[a-f0-9]{40})\b")),
    token("vault-token", &["hvs.", "hvb.", "hvr."], concat!(left!(), r"(hv[sbr]\.[A-Za-z0-9_-]{24,})")),
    token(
        "doppler-token",
        &["dp.pt.", "dp.st.", "dp.ct."],
        concat!(left!(), r"(dp\.(?:pt|ct|st(?:\.[a-z0-9_-]{2,35})?)\.[A-Za-z0-9]{40,})"),
    ),
    token("databricks-token", &["dapi"], concat!(left!(), r"(dapi[a-f0-9]{32}(?:-\d)?)")),
    token("tailscale-key", &["tskey-"], r"(tskey-[a-z]+-[A-Za-z0-9-]{16,})"),
    token(
        "fly-token",
        &["fo1_", "fm2_"],
        concat!(left!(), r"(fo1_[A-Za-z0-9_-]{40,}|fm2_[A-Za-z0-9+/=]{60,})"),
    ),
    token("linear-key", &["lin_api_", "lin_oauth_"], r"(lin_(?:api|oauth)_[A-Za-z0-9]{32,})"),
    token(
        "notion-token",
        &["ntn_", "secret_"],
        concat!(left!(), r"(ntn_[A-Za-z0-9]{40,}|secret_[A-Za-z0-9]{43})\b"),
    ),
    token("figma-token", &["figd_"], r"(figd_[A-Za-z0-9_-]{40,})"),
    token("postman-key", &["pmak-"], concat!(left!(), r"(PMAK-[a-f0-9]{24}-[a-f0-9]{34})")),
    token("atlassian-token", &["atatt3x"], r"(ATATT3x[A-Za-z0-9_=-]{60,})"),
    token(
        "supabase-key",
        &["sbp_", "sb_secret_"],
        concat!(left!(), r"(sbp_[a-f0-9]{40}|sb_secret_[A-Za-z0-9_-]{20,})"),
    ),
    token("telegram-bot-token", &[":aa"], concat!(left!(), r"(\d{8,10}:AA[A-Za-z0-9_-]{33})")),
    place(
        "url-password",
        &["://"],
        r#"[A-Za-z][A-Za-z0-9+.-]{0,20}://[^\s/:@?#\[\]"'<>\x00]*:([^\s/?#"'<>\x00]+)@"#,
    ),
    place(
        "authorization",
        &["authorization"],
        r#"(?i:authorization)\\{0,3}["']?[ \t]*[:=][ \t]*\\{0,3}["']?(?i:bearer|basic|token|apikey|digest)[ \t]+([A-Za-z0-9._~+/=:-]{8,})"#,
    ),
    Rule {
        name: "bearer-token",
        anchors: &["bearer "],
        pattern: r"(?i:\bbearer)[ \t]+([A-Za-z0-9._~+/-]{20,}=*)",
        min_entropy: 3.5,
        accepts: |found| !filters::is_placeholder(found.value()) && !filters::is_words(found.value()),
    },
    place(
        "npmrc-auth",
        &["_authtoken", "_auth", "_password"],
        r#"(?:^|[:\s])_(?:authToken|auth|password)[ \t]*=[ \t]*["']?([^\s"'\x00]{8,})"#,
    ),
    Rule {
        name: "netrc-password",
        anchors: &["password "],
        pattern: r"(?:^|\s)password[ \t]+([^\s\x00]+)",
        min_entropy: 0.0,
        accepts: in_netrc,
    },
    Rule {
        name: "command-line-secret",
        anchors: &["--password", "--token", "--api-key", "--secret", "--access-key", "--auth-token"],
        pattern: r#"--(?:password|token|api-key|secret|secret-key|access-key|auth-token)(?:[ \t]+|=)["']?([^\s"'\x00-][^\s"'\x00]{7,})"#,
        min_entropy: 2.5,
        accepts: |found| {
            let value = found.value();
            !(filters::is_placeholder(value) || filters::is_words(value) || filters::is_path(value))
        },
    },
    Rule {
        name: "assigned-secret",
        anchors: &[
            "secret",
            "token",
            "passw",
            "passphrase",
            "pwd",
            "credential",
            "private",
            "api_key",
            "api-key",
            "apikey",
            "access_key",
            "access-key",
            "accesskey",
            "account_key",
            "auth_key",
            "authkey",
            "signing_key",
            "master_key",
            "encryption_key",
        ],
        pattern: concat!(
            r"(?i:secret|token|passw(?:or)?d|passphrase|pwd|credential|private|api[_-]?key|access[_-]?key|account_key",
            r"|auth_?key|signing_key|master_key|encryption_key)[A-Za-z0-9_-]{0,24}",
            assign!(),
            r#"([^\s"'`,;:=<>()\[\]{}\\|&\x00][^\s"'`,;<>()\[\]{}\\|&\x00]{15,})"#
        ),
        min_entropy: 3.5,
        accepts: is_assigned_secret,
    },
];

/// `.netrc` writes `password …` behind or below `machine …` and `login …`; prose does not.
fn in_netrc(found: &Match<'_>) -> bool {
    let names_one = |line: &[u8]| {
        let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        words.any(|word| matches!(word, b"machine" | b"login" | b"default"))
    };
    let above = found.before.strip_suffix(b"\n").unwrap_or(found.before);
    // Only the end of the line above is looked at: it may be endless.
    let window = &above[above.len().saturating_sub(200)..];
    let line_above = window.rsplit(|&byte| byte == b'\n').next().unwrap_or_default();
    let start = found.from.saturating_sub(200);
    let begins = |line: &[u8]| {
        let line = line.trim_ascii_start();
        line.starts_with(b"login ") || line.starts_with(b"machine ")
    };
    (names_one(&found.line[start..found.from])
        || found.line[..found.from].trim_ascii().is_empty() && begins(line_above))
        && !filters::is_placeholder(found.value())
}

fn is_assigned_secret(found: &Match<'_>) -> bool {
    let value = found.value();
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"_.-".contains(byte);
    let before = found.line[..found.from].iter().rev().take(64).take_while(|byte| is_name(byte)).count();
    let behind = found.line[found.from..].iter().take(64).take_while(|byte| is_name(byte)).count();
    let name = &found.line[found.from - before..found.from + behind];
    // A call or an index makes the value code.
    let is_code = matches!(found.line.get(found.secret.end), Some(b'(' | b'['));
    // A quoted password may well be made of words.
    let quoted =
        found.line[..found.secret.start].ends_with(b"\"") || found.line[..found.secret.start].ends_with(b"'");
    let is_password =
        found.line[found.from..].get(..4).is_some_and(|start| start.eq_ignore_ascii_case(b"pass"));
    let in_words = filters::is_words(value) && !(quoted && is_password);
    !(is_code
        || in_words
        || filters::is_placeholder(value)
        || filters::is_uuid(value)
        || filters::is_address_or_digest(value)
        || filters::is_path(value)
        || filters::is_harmless_name(name)
        || value.windows(3).any(|three| three == b"://")
        || !value.iter().any(u8::is_ascii_alphabetic))
}
