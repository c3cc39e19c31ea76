//! compute-sanitizer's XML report: `<ComputeSanitizerOutput>` with a `<record>` for each finding.
//!
//! The log decides; the report is its second witness. It is read as a tree of elements, and an element that is not
//! known says nothing. Entities of the document's own are refused, and so is a document that does not end.

use quick_xml::Reader;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::Event;

use super::finding::{self, Finding, Site, bare, short};

/// The element that holds all.
const ROOT: &str = "ComputeSanitizerOutput";

/// Kinds of records that find nothing: what was launched, what was synchronised.
const NO_FINDING: [&str; 2] = ["LaunchInfo", "SyncLog"];

const MOST_DEPTH: usize = 32;
const MOST_ELEMENTS: usize = 500_000;
const LONGEST_TEXT: usize = 4096;

#[derive(Default)]
struct Element {
    name: String,
    text: String,
    children: Vec<Element>,
}

impl Element {
    /// The first element of this name below, in the order of the document.
    fn find(&self, names: &[&str]) -> Option<&Element> {
        self.children.iter().find_map(|child| {
            if names.contains(&child.name.as_str()) { Some(child) } else { child.find(names) }
        })
    }

    fn text_of(&self, names: &[&str]) -> Option<&str> {
        self.find(names).map(|element| element.text.trim()).filter(|text| !text.is_empty())
    }

    fn position(&self, name: &str) -> Option<String> {
        let place = self.find(&[name])?;
        let axis = |axis: &str| place.text_of(&[axis])?.parse::<u64>().ok();
        Some(format!("({},{},{})", axis("x")?, axis("y")?, axis("z")?))
    }
}

/// Reads a report. The error says what is wrong with it.
pub fn read(report: &[u8]) -> Result<Vec<Finding>, String> {
    let text = std::str::from_utf8(report).map_err(|_| "is not UTF-8")?;
    let mut reader = Reader::from_str(text);
    let mut open: Vec<Element> = Vec::new();
    let mut root: Option<Element> = None;
    let mut elements = 0;
    loop {
        let event =
            reader.read_event().map_err(|_| format!("is no XML at byte {}", reader.error_position()))?;
        match event {
            Event::Start(start) => {
                elements += 1;
                if open.len() == MOST_DEPTH || elements > MOST_ELEMENTS {
                    return Err("is nested too deeply or too large".into());
                }
                if open.is_empty() && root.is_some() {
                    return Err("goes on after its end".into());
                }
                open.push(Element { name: short(start.name().as_ref()), ..Element::default() });
            }
            Event::Empty(empty) => {
                elements += 1;
                let element = Element { name: short(empty.name().as_ref()), ..Element::default() };
                match open.last_mut() {
                    _ if elements > MOST_ELEMENTS => return Err("is too large".into()),
                    Some(parent) => parent.children.push(element),
                    None if root.is_none() => root = Some(element),
                    None => return Err("goes on after its end".into()),
                }
            }
            Event::End(_) => {
                let Some(element) = open.pop() else {
                    return Err("ends what never began".into());
                };
                match open.last_mut() {
                    Some(parent) => parent.children.push(element),
                    None => root = Some(element),
                }
            }
            Event::Text(said) => add(&mut open, &said),
            Event::CData(said) => add(&mut open, &said),
            Event::GeneralRef(reference) => {
                let character = reference.resolve_char_ref().map_err(|_| "has a character that is none")?;
                match (character, resolve_predefined_entity(&reference)) {
                    (Some(character), _) => add(&mut open, character.encode_utf8(&mut [0; 4])),
                    (None, Some(known)) => add(&mut open, known),
                    (None, None) => return Err("has an entity of its own".into()),
                }
            }
            Event::DocType(_) => return Err("has a document type".into()),
            Event::Eof => break,
            Event::Comment(_) | Event::Decl(_) | Event::PI(_) => {}
        }
    }
    if !open.is_empty() {
        return Err("is cut short".into());
    }
    match root {
        Some(root) if root.name == ROOT => {
            Ok(root.children.iter().filter(|child| child.name == "record").filter_map(record).collect())
        }
        Some(_) => Err("is no report of compute-sanitizer".into()),
        None => Err("is empty".into()),
    }
}

fn add(open: &mut [Element], text: &str) {
    if let Some(element) = open.last_mut() {
        let left = LONGEST_TEXT.saturating_sub(element.text.len());
        element.text.extend(text.chars().take(left));
    }
}

fn record(record: &Element) -> Option<Finding> {
    let word = record.text_of(&["kind"]).unwrap_or_default();
    if NO_FINDING.contains(&word) {
        return None;
    }
    let text = record.text_of(&["text"]).unwrap_or(if word.is_empty() { "a finding" } else { word });
    let mut finding = Finding::new(finding::kind(text).unwrap_or("other"), finding::without_severity(text));
    let frame = record.find(&["deviceStack"]).and_then(|stack| stack.find(&["frame"]));
    let place = record.find(&["where"]).or(frame);
    if let Some(place) = place {
        let function = place.text_of(&["func", "function", "name"]).unwrap_or_default();
        finding.site = Some(Site {
            function: short(function),
            file: place.text_of(&["file", "fileName"]).map(bare),
            line: place.text_of(&["line", "lineNumber"]).and_then(|line| line.parse().ok()),
            ..Site::default()
        });
    }
    if let Some(who) = record.find(&["who"]) {
        finding.block = who.position("blockIdx");
        let thread = who.position("threadIdx");
        if thread.is_some() {
            finding.site.get_or_insert_with(Site::default).thread = thread;
        }
    }
    finding.bytes =
        record.text_of(&["size", "accessSize"]).and_then(|size| size.parse().ok()).or(finding.bytes);
    Some(finding)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const REPORT: &str = "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<ComputeSanitizerOutput>\n  <record>\n    \
        <kind>Precise</kind>\n    <what>\n      <text>Invalid __global__ write of size 4 bytes</text>\n      \
        <size>4</size>\n    </what>\n    <where><func>tail(float *)</func><file>/src/tail.cu</file><line>39</line>\
        </where>\n    <who><threadIdx><x>31</x><y>0</y><z>0</z></threadIdx><blockIdx><x>7</x><y>0</y><z>0</z>\
        </blockIdx></who>\n    <deviceStack/>\n  </record>\n  <record><kind>LaunchInfo</kind></record>\n  \
        <record><kind>Api</kind><what><text>Program hit &quot;x&quot; &#60;1&#62;</text></what></record>\n\
        </ComputeSanitizerOutput>\n";

    #[test]
    fn records_become_findings() {
        let findings = read(REPORT.as_bytes()).unwrap();
        assert_eq!(findings.len(), 2);
        assert_eq!(
            findings[0].said(),
            "Invalid __global__ write of size 4 bytes at tail(float *) (tail.cu:39), thread (31,0,0), block (7,0,0)"
        );
        assert_eq!((findings[1].kind, findings[1].text.as_str()), ("API error", "Program hit \"x\" <1>"));
        assert_eq!(read(b"<ComputeSanitizerOutput/>"), Ok(vec![]));
        assert_eq!(
            read(b"<ComputeSanitizerOutput><record><kind>New</kind></record></ComputeSanitizerOutput>")
                .unwrap()[0]
                .text,
            "New"
        );
    }

    #[test]
    fn what_is_wrong_is_said() {
        let deep = format!("<ComputeSanitizerOutput>{}", "<a>".repeat(100));
        for (report, says) in [
            ("", "is empty"),
            ("<ComputeSanitizerOutput><record>", "is cut short"),
            ("<ComputeSanitizerOutput></record>", "is no XML"),
            ("<ComputeSanitizerOutput", "is no XML"),
            ("<other/>", "no report of compute-sanitizer"),
            ("<ComputeSanitizerOutput/><ComputeSanitizerOutput/>", "goes on"),
            ("<!DOCTYPE a [<!ENTITY b \"c\">]><ComputeSanitizerOutput/>", "document type"),
            ("<ComputeSanitizerOutput>&b;</ComputeSanitizerOutput>", "an entity of its own"),
            ("<ComputeSanitizerOutput>&#xfffffff;</ComputeSanitizerOutput>", "a character that is none"),
            (&deep, "nested too deeply"),
        ] {
            let error = read(report.as_bytes()).unwrap_err();
            assert!(error.contains(says), "{report}: {error}");
        }
        assert!(read(b"\xff").is_err());
    }

    proptest! {
        #[test]
        fn every_cut_report_is_refused(cut in 60..REPORT.len() - 2) {
            prop_assert!(read(&REPORT.as_bytes()[..cut]).is_err());
        }

        #[test]
        fn reads_anything(report in "[<>/&;a-c\"= ]{0,200}") {
            let _ = read(report.as_bytes());
        }
    }
}
