//! The table of differences: columns of fixed width, or a pipe table, read and written.

use unicode_width::UnicodeWidthStr;

use super::LoggedDifference;
use super::lines;

/// The narrowest columns written: wide enough that most tables look alike.
const WIDTHS: [usize; 3] = [30, 29, 32];
/// The names of the cases when the log gives none.
const CASES: [&str; 2] = ["Working", "Broken"];
const GAP: usize = 2;
/// More columns than this are not a table of differences; the bound keeps reading linear.
const MOST_COLUMNS: usize = 16;

/// What a section of differences holds.
pub(super) struct Read<'a> {
    pub(super) cases: (String, String),
    pub(super) rows: Vec<LoggedDifference>,
    /// The lines that are not part of the table.
    pub(super) rest: Vec<&'a str>,
    /// What was odd, with the index of its line in the section.
    pub(super) warnings: Vec<(usize, String)>,
}

/// Reads a section: `heading` is what its heading says of the cases.
pub(super) fn read<'a>(heading: &str, section: &[&'a str], covered: &[bool]) -> Read<'a> {
    let mut warnings = Vec::new();
    let mut rest = Vec::new();
    let mut table: Option<Table> = None;
    let mut at = 0;
    while at < section.len() {
        let covered_until = (at + 1..section.len()).find(|&below| !covered[below]).unwrap_or(section.len());
        let (end, found) = if covered_until > at + 1 {
            // A fence: what is between its two lines is a table or it is not.
            (covered_until, Table::read(&section[at + 1..covered_until - 1]))
        } else if lines::is_blank(section[at]) {
            (at + 1, None)
        } else {
            let opens = |below: usize| covered.get(below + 1).copied().unwrap_or(false);
            let ends = |below: &usize| lines::is_blank(section[*below]) || opens(*below);
            let end = (at + 1..section.len()).find(ends).unwrap_or(section.len());
            (end, Table::read(&section[at..end]))
        };
        match (found, &mut table) {
            (Some(found), None) => {
                if found.header.len() > 3 && found.eliminated.is_none() {
                    warnings.push((
                        at,
                        "the table has more than three columns; the others joined the last".into(),
                    ));
                }
                table = Some(found);
            }
            (Some(mut found), Some(table)) => {
                warnings.push((at, "a second table of differences; its rows were added to the first".into()));
                table.rows.append(&mut found.rows);
            }
            (None, _) => rest.extend(&section[at..end]),
        }
        at = end;
    }
    let table = table.unwrap_or_default();
    let swapped = heading.is_empty() && table.is_swapped();
    let cases = name_cases(heading, &table.header);
    let rows = table.rows.iter().map(|row| difference(row, table.eliminated, swapped)).collect();
    Read { cases: if swapped { (cases.1, cases.0) } else { cases }, rows, rest, warnings }
}

/// Every way to read `A vs B`.
fn splits(heading: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut from = 0;
    std::iter::from_fn(move || {
        loop {
            let at = from + heading[from..].find(' ')?;
            from = at + 1;
            let word = heading[from..].split(' ').next().unwrap_or_default();
            let after = from + word.len();
            if after < heading.len()
                && ["vs", "vs.", "versus"].iter().any(|versus| word.eq_ignore_ascii_case(versus))
            {
                return Some((heading[..at].trim_matches(' '), heading[after..].trim_matches(' ')));
            }
        }
    })
}

/// The two cases: as the heading says if there is one way to read it, else as the table's header says.
fn name_cases(heading: &str, header: &[String]) -> (String, String) {
    let owned = |(working, broken): (&str, &str)| (working.to_owned(), broken.to_owned());
    let named = match header {
        [_, working, broken, ..] => Some((working.as_str(), broken.as_str())),
        _ => None,
    };
    let mut ways = splits(heading);
    match (ways.next(), ways.next()) {
        (Some(only), None) => owned(only),
        (Some(first), Some(second)) => [first, second]
            .into_iter()
            .chain(ways)
            .find(|way| named.is_some_and(|named| way.0.len() == named.0.len() && *way == named))
            .map_or_else(|| owned(first), owned),
        (None, _) => {
            let bland = |(working, broken): &(&str, &str)| {
                working.eq_ignore_ascii_case(CASES[0]) && broken.eq_ignore_ascii_case(CASES[1])
            };
            named
                .filter(|named| !bland(named) && !named.0.is_empty() && !named.1.is_empty())
                .map(owned)
                .unwrap_or_default()
        }
    }
}

fn difference(row: &[String], eliminated: Option<usize>, swapped: bool) -> LoggedDifference {
    let cell = |at: usize| row.get(at).map_or("", |cell| cell.trim_matches([' ', '\t', '\n']));
    let (factor, mut struck) = unstrike(cell(0));
    let (working, broken) = if swapped { (2, 1) } else { (1, 2) };
    let mut more = String::new();
    for at in 3..row.len() {
        if eliminated == Some(at) {
            let word = cell(at).to_lowercase();
            struck |= [
                "yes",
                "x",
                "y",
                "true",
                "done",
                "eliminated",
                "ruled out",
                "[x]",
                "\u{2713}",
                "\u{2705}",
                "\u{2714}",
            ]
            .iter()
            .any(|yes| word.starts_with(yes));
        } else if !cell(at).is_empty() {
            more.push_str(" \u{2014} ");
            more.push_str(cell(at));
        }
    }
    LoggedDifference {
        factor,
        working: cell(working).to_owned(),
        broken: cell(broken).to_owned() + &more,
        eliminated: struck,
    }
}

fn is_struck(text: &str) -> bool {
    text.len() >= 4 && text.starts_with("~~") && text.ends_with("~~")
}

fn strike(row: &LoggedDifference) -> String {
    if row.eliminated {
        format!("~~{}~~", row.factor)
    } else if is_struck(row.factor.trim_start_matches('\\')) {
        format!("\\{}", row.factor)
    } else {
        row.factor.clone()
    }
}

fn unstrike(cell: &str) -> (String, bool) {
    if is_struck(cell) {
        (cell[2..cell.len() - 2].trim_matches([' ', '\t', '\n']).to_owned(), true)
    } else if cell.starts_with('\\') && is_struck(cell.trim_start_matches('\\')) {
        (cell[1..].to_owned(), false)
    } else {
        (cell.to_owned(), false)
    }
}

/// Cells as read, before they get a meaning.
#[derive(Default)]
struct Table {
    header: Vec<String>,
    rows: Vec<Vec<String>>,
    /// The column that says whether a factor was eliminated.
    eliminated: Option<usize>,
}

impl Table {
    fn read(lines: &[&str]) -> Option<Self> {
        let mut table = Self::read_pipes(lines).or_else(|| Self::read_fixed(lines))?;
        table.eliminated = (3..table.header.len()).find(|&at| {
            let name = table.header[at].to_lowercase();
            ["eliminated", "ruled out", "excluded", "status"].iter().any(|word| name.starts_with(word))
        });
        Some(table)
    }

    /// `| a | b | c |` with a line of dashes below the header; `a | b | c` with `--+--` too.
    fn read_pipes(lines: &[&str]) -> Option<Self> {
        let mut lines = lines.iter().filter(|line| !lines::is_blank(line));
        let (header, ruler) = (lines.next()?, lines.next()?);
        let dashes = ruler.contains('-') && ruler.bytes().all(|byte| b"|-+: \t".contains(&byte));
        if !header.contains('|') || !dashes || !ruler.contains(['|', '+']) {
            return None;
        }
        let header = pipe_cells(header);
        let rows = lines
            .map(|line| pipe_cells(line))
            .filter(|row| row.iter().any(|cell| !cell.is_empty()))
            .collect();
        (header.len() >= 3).then_some(Self { header, rows, eliminated: None })
    }

    /// Columns of fixed width over a ruler of dashes.
    fn read_fixed(lines: &[&str]) -> Option<Self> {
        let at = lines.iter().position(|line| columns(line).is_some())?;
        let starts = columns(lines[at])?;
        if lines[..at].iter().filter(|line| !lines::is_blank(line)).count() > 1 {
            return None;
        }
        let header = lines[..at].iter().rfind(|line| !lines::is_blank(line)).map(|line| cells(line, &starts));
        let mut rows: Vec<Vec<String>> = Vec::new();
        for line in &lines[at + 1..] {
            if lines::is_blank(line) || columns(line).is_some() {
                continue;
            }
            match rows.last_mut() {
                Some(row) if lines::indent(line).0 >= GAP => continue_row(row, line, &starts),
                _ => rows.push(cells(line, &starts)),
            }
        }
        Some(Self { header: header.unwrap_or_default(), rows, eliminated: None })
    }

    /// Whether the header plainly names the broken case first.
    fn is_swapped(&self) -> bool {
        let is = |at: usize, words: &[&str]| {
            self.header.get(at).is_some_and(|cell| words.iter().any(|word| cell.eq_ignore_ascii_case(word)))
        };
        is(1, &["broken", "failing", "fails", "hangs", "bad"])
            && is(2, &["working", "passing", "works", "good"])
    }
}

/// Where the columns of a ruler start, if the line is one with three columns or more.
fn columns(line: &str) -> Option<Vec<usize>> {
    let mut starts = Vec::new();
    let mut before = ' ';
    for (at, c) in line.chars().enumerate() {
        match c {
            '-' | '=' | '\u{2500}' | '\u{2501}' | '\u{2550}' => {
                if before == ' ' {
                    starts.push(at);
                }
                before = '-';
            }
            ' ' | '\t' => before = ' ',
            _ => return None,
        }
    }
    (3..=MOST_COLUMNS).contains(&starts.len()).then_some(starts)
}

/// The pieces of a line between runs of two or more spaces (or a tab), with their display columns.
fn pieces(line: &str) -> Vec<(usize, &str)> {
    let mut pieces = Vec::new();
    let (mut column, mut at) = (0, 0);
    while at < line.len() {
        let rest = &line[at..];
        let space = rest.len() - rest.trim_start_matches([' ', '\t']).len();
        if space > 0 {
            column += rest[..space].width() + rest[..space].matches('\t').count() * 3;
            at += space;
            continue;
        }
        let wide = |pair: &[u8]| pair[0] == b'\t' || pair[0] == b' ' && b" \t".contains(&pair[1]);
        let gap = rest.as_bytes().windows(2).position(wide).unwrap_or(rest.len());
        pieces.push((column, rest[..gap].trim_end_matches(' ')));
        column += rest[..gap].width();
        at += gap;
    }
    pieces
}

/// The cells of a row: its pieces if there are as many as columns, else what the ruler says.
fn cells(line: &str, starts: &[usize]) -> Vec<String> {
    let mut found = pieces(line);
    if found.len() < starts.len() {
        found = found.into_iter().flat_map(|(column, piece)| cut(piece, column, starts)).collect();
    }
    if found.len() == starts.len() {
        return found.into_iter().map(|(_, piece)| piece.to_owned()).collect();
    }
    let mut row = vec![String::new(); starts.len()];
    for (column, piece) in found {
        let cell = &mut row[column_of(column, starts)];
        if !cell.is_empty() {
            cell.push_str("  ");
        }
        cell.push_str(piece);
    }
    row
}

/// The column a piece belongs to: the last one that starts at or before it, one space of tolerance.
fn column_of(column: usize, starts: &[usize]) -> usize {
    starts.iter().rposition(|&start| start <= column + 1).unwrap_or(0)
}

/// Cuts a piece in which a long cell left only one space before the next column.
fn cut<'a>(piece: &'a str, column: usize, starts: &[usize]) -> Vec<(usize, &'a str)> {
    let mut out = Vec::new();
    let (mut from, mut from_column) = (0, column);
    let mut place = column;
    for (at, c) in piece.char_indices() {
        let width = UnicodeWidthStr::width(c.encode_utf8(&mut [0; 4]) as &str);
        if c == ' ' && starts.contains(&(place + 1)) && at > from {
            out.push((from_column, &piece[from..at]));
            (from, from_column) = (at + 1, place + 1);
        }
        place += width;
    }
    out.push((from_column, &piece[from..]));
    out
}

/// Adds a line that has no factor to the row above it.
fn continue_row(row: &mut [String], line: &str, starts: &[usize]) {
    let found = pieces(line);
    if let [(column, piece)] = found[..] {
        let cell = &mut row[column_of(column, starts)];
        cell.push('\n');
        cell.push_str(piece);
        return;
    }
    for (column, piece) in found {
        let cell = &mut row[column_of(column, starts)];
        cell.push('\n');
        cell.push_str(piece);
    }
}

/// The cells of a pipe table's line. `\|` is a pipe, `\\` a backslash, `<br>` a line end.
fn pipe_cells(line: &str) -> Vec<String> {
    let line = line.trim_matches([' ', '\t']);
    let line = line.strip_prefix('|').unwrap_or(line);
    let mut cells = vec![String::new()];
    let mut rest = line;
    while let Some(c) = rest.chars().next() {
        let cell = cells.last_mut().expect("starts with one cell");
        let taken = if let Some(escaped) = rest.strip_prefix('\\').and_then(|rest| rest.chars().next())
            && "\\|<".contains(escaped)
        {
            cell.push(escaped);
            2
        } else if rest.starts_with("<br>") {
            cell.push('\n');
            4
        } else if c == '|' {
            cells.push(String::new());
            1
        } else {
            cell.push(c);
            c.len_utf8()
        };
        rest = &rest[taken..];
    }
    if cells.len() > 1 && cells.last().is_some_and(|cell| lines::is_blank(cell)) {
        cells.pop();
    }
    cells.iter().map(|cell| cell.trim_matches([' ', '\t', '\n']).to_owned()).collect()
}

/// Writes the section's heading and table; nothing where there is neither.
pub(super) fn print(working: &str, broken: &str, rows: &[LoggedDifference]) -> Option<(String, String)> {
    let named = !(working.is_empty() && broken.is_empty());
    if !named && rows.is_empty() {
        return None;
    }
    let (mut heading, mut header) = ("Key Differences".to_owned(), ["Factor", CASES[0], CASES[1]]);
    let mut ambiguous = false;
    if named {
        let cases = format!("{working} vs {broken}");
        ambiguous = splits(&cases).count() != 1;
        heading = format!("{heading}: {cases}");
        header = ["Factor", working, broken];
    }
    if rows.is_empty() && !ambiguous {
        return Some((heading, String::new()));
    }
    Some((heading, print_fixed(&header, rows).unwrap_or_else(|| print_pipes(&header, rows))))
}

/// The table in a fence, or `None` if a cell does not fit the layout.
fn print_fixed(header: &[&str; 3], rows: &[LoggedDifference]) -> Option<String> {
    let factors: Vec<String> = rows.iter().map(strike).collect();
    let mut widths = WIDTHS.map(|width| width.max(3));
    for (at, width) in widths.iter_mut().enumerate() {
        *width = (*width).max(header[at].width());
    }
    for (row, factor) in rows.iter().zip(&factors) {
        widths[0] = widths[0].max(factor.width());
        widths[1] = widths[1].max(row.working.width());
    }
    let mut table = Vec::new();
    let pad = |text: &str, width: usize| format!("{text}{}", " ".repeat(width + GAP - text.width()));
    table.push(pad(header[0], widths[0]) + &pad(header[1], widths[1]) + header[2]);
    table.push(widths.map(|width| "-".repeat(width)).join(&" ".repeat(GAP)));
    for (row, factor) in rows.iter().zip(&factors) {
        let mut broken = row.broken.split('\n');
        let first =
            pad(factor, widths[0]) + &pad(&row.working, widths[1]) + broken.next().unwrap_or_default();
        table.push(first);
        table.extend(broken.map(|line| " ".repeat(widths[0] + widths[1] + 2 * GAP) + line));
    }
    let fenced = table.iter().any(|line| line.trim_start_matches(' ').starts_with("```"));
    // The proof of the layout is that it reads back: odd cells make it fall through.
    let lines: Vec<&str> = table.iter().map(String::as_str).collect();
    let simple = rows.iter().all(|row| !row.working.contains('\n') && !row.factor.contains('\n'));
    let read = Table::read(&lines).filter(|_| simple && !fenced)?;
    let same = read.header == header.map(str::to_owned)
        && read.rows.len() == rows.len()
        && read.rows.iter().zip(rows).all(|(read, row)| difference(read, None, false) == *row);
    same.then(|| format!("```\n{}\n```", table.join("\n")))
}

fn print_pipes(header: &[&str; 3], rows: &[LoggedDifference]) -> String {
    let cell = |text: &str| {
        text.replace('\\', "\\\\").replace('|', "\\|").replace("<br>", "\\<br>").replace('\n', "<br>")
    };
    let mut table = format!("| {} |\n|---|---|---|", header.map(cell).join(" | "));
    for row in rows {
        let cells = [cell(&strike(row)), cell(&row.working), cell(&row.broken)];
        table.extend(["\n| ", &cells.join(" | "), " |"]);
    }
    table
}
