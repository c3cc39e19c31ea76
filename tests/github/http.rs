//! As much HTTP as a stand-in for a server needs: one request per connection, on the loopback.

#![allow(unreachable_pub, reason = "`pub` says what the tests may use")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};

use serde_json::Value;

/// A request.
#[derive(Debug, Clone)]
pub struct Asked {
    /// The method.
    pub method: String,
    /// The path, without its query.
    pub path: String,
    /// The query, decoded.
    pub query: Vec<(String, String)>,
    /// The headers, their names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body, null without one.
    pub body: Value,
}

impl Asked {
    /// A header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str())
    }

    /// A member of the query.
    pub fn query(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str())
    }
}

/// An answer.
pub enum Said {
    /// A status and a JSON text.
    Json(u16, String),
    /// The connection is cut.
    Nothing,
}

/// Serves for as long as the program lives; the port.
pub fn serve(answer: impl Fn(&Asked) -> Said + Send + Sync + 'static) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("its address").port();
    let answer = std::sync::Arc::new(answer);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let answer = answer.clone();
            std::thread::spawn(move || one(stream, &*answer));
        }
    });
    port
}

fn one(stream: TcpStream, answer: &dyn Fn(&Asked) -> Said) {
    let Some(asked) = read(&stream) else {
        return;
    };
    let Said::Json(status, body) = answer(&asked) else {
        return;
    };
    let length = body.len();
    let out = format!(
        "HTTP/1.1 {status} X\r\nconnection: close\r\ncontent-type: application/json; charset=utf-8\r\n\
         content-length: {length}\r\n\r\n{body}"
    );
    let mut stream = stream;
    let _ = stream.write_all(out.as_bytes());
}

fn read(stream: &TcpStream) -> Option<Asked> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut words = line.split_whitespace();
    let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else {
            break;
        };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let header = |name: &str| headers.iter().find(|(n, _)| n == name).map(|(_, v)| v.clone());
    let mut body = Vec::new();
    if let Some(length) = header("content-length").and_then(|v| v.parse::<u64>().ok()) {
        reader.by_ref().take(length).read_to_end(&mut body).ok()?;
    } else if header("transfer-encoding").is_some() {
        loop {
            let mut size = String::new();
            reader.read_line(&mut size).ok()?;
            let size = u64::from_str_radix(size.trim(), 16).ok()?;
            reader.by_ref().take(size).read_to_end(&mut body).ok()?;
            reader.read_line(&mut String::new()).ok()?;
            if size == 0 {
                break;
            }
        }
    }
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    let query =
        query.split('&').filter_map(|pair| pair.split_once('=')).map(|(n, v)| (decoded(n), decoded(v)));
    Some(Asked {
        method,
        path: decoded(path),
        query: query.collect(),
        body: serde_json::from_slice(&body).unwrap_or(Value::Null),
        headers,
    })
}

fn decoded(text: &str) -> String {
    let mut out = Vec::new();
    let mut bytes = text.bytes();
    while let Some(b) = bytes.next() {
        if b == b'%' {
            let hex: Vec<u8> = bytes.by_ref().take(2).collect();
            let hex = String::from_utf8(hex).expect("hexadecimal");
            out.push(u8::from_str_radix(&hex, 16).expect("hexadecimal"));
        } else {
            out.push(b);
        }
    }
    String::from_utf8(out).expect("UTF-8")
}
