//! Git's binary patches: base 85, in which any token shape turns up by chance.

/// Offset after the data of the binary patch whose first line begins at `start`, or `None` if none does.
///
/// Only lines of exactly the shape that git writes count (the first character says how long a line
/// is), so that a heading alone does not hide what follows it.
pub(super) fn end(bytes: &[u8], start: usize) -> Option<usize> {
    let at_line_start = start == 0 || bytes[start - 1] == b'\n';
    let mut at = start;
    if !at_line_start || next_line(bytes, &mut at)? != b"GIT binary patch" {
        return None;
    }
    // The new content, then (in a reversible patch) the way back.
    for _ in 0..2 {
        let mut ahead = at;
        match next_line(bytes, &mut ahead) {
            Some(line) if is_hunk_header(line) => at = ahead,
            _ => break,
        }
        loop {
            let mut ahead = at;
            match next_line(bytes, &mut ahead) {
                Some(line) if is_data(line) => at = ahead,
                Some(b"") => {
                    at = ahead;
                    break;
                }
                _ => return Some(at),
            }
        }
    }
    Some(at)
}

fn next_line<'a>(bytes: &'a [u8], at: &mut usize) -> Option<&'a [u8]> {
    let rest = bytes.get(*at..).filter(|rest| !rest.is_empty())?;
    let length = rest.iter().position(|&byte| byte == b'\n').map_or(rest.len(), |newline| newline + 1);
    *at += length;
    Some(&rest[..super::content_length(&rest[..length])])
}

fn is_hunk_header(line: &[u8]) -> bool {
    let size = line.strip_prefix(b"literal ").or_else(|| line.strip_prefix(b"delta "));
    size.is_some_and(|size| !size.is_empty() && size.len() < 20 && size.iter().all(u8::is_ascii_digit))
}

fn is_data(line: &[u8]) -> bool {
    let Some((&length, data)) = line.split_first() else {
        return false;
    };
    let bytes = match length {
        b'A'..=b'Z' => usize::from(length - b'A') + 1,
        b'a'..=b'z' => usize::from(length - b'a') + 27,
        _ => return false,
    };
    let in_alphabet = |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&()*+-;<=>?@^_`{|}~".contains(byte);
    data.len() == bytes.div_ceil(4) * 5 && data.iter().all(in_alphabet)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lines_of_the_right_shape_are_data() {
        let patch = b"GIT binary patch\nliteral 4\nD0000000000\n\nliteral 0\nHcmV?d00001\n\ndiff --git a b\n";
        let data_end = end(patch, 0).unwrap();
        // `D` announces four bytes, five characters; ten are no data.
        assert_eq!(&patch[data_end..data_end + 3], b"D00");
        let patch =
            b"x\nGIT binary patch\r\nliteral 4\r\nD00000\r\n\r\nliteral 0\r\nHcmV?d00001\r\n\r\ndiff\r\n";
        assert_eq!(&patch[end(patch, 2).unwrap()..], b"diff\r\n");
        assert_eq!(end(b"a GIT binary patch\n", 2), None);
        assert_eq!(end(b"GIT binary patches\n", 0), None);
        assert_eq!(end(b"GIT binary patch", 0), Some(16));
    }
}
