//! A proxy in memory that speaks SOCKS5 and HTTP CONNECT, told apart by the first byte, as a client's peer.
//!
//! It sends names to the server that the test names, and addresses to themselves.

use std::net::SocketAddr;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, copy_bidirectional};

use ottla_client::environment::{Network, SocketOptions};

use super::{Memory, server};

pub(crate) struct TestProxy {
    pub(crate) address: SocketAddr,
    /// What clients asked for, as `host:port`.
    pub(crate) targets: Arc<Mutex<Vec<String>>>,
}

/// Starts a proxy; with a login, it asks for user and password.
pub(crate) fn test_proxy(
    names_lead_to: SocketAddr,
    login: Option<(&'static str, &'static str)>,
) -> TestProxy {
    let targets = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&targets);
    let address = server(move |stream| {
        let seen = Arc::clone(&seen);
        async move {
            // A client that hangs up ends the script.
            let _ = serve(stream, names_lead_to, login, &seen).await;
        }
    });
    TestProxy { address, targets }
}

async fn serve(
    mut stream: DuplexStream,
    names_lead_to: SocketAddr,
    login: Option<(&str, &str)>,
    seen: &Mutex<Vec<String>>,
) -> std::io::Result<()> {
    let first = stream.read_u8().await?;
    let target = match first {
        5 => socks5_target(&mut stream, login).await?,
        _ => http_target(&mut stream, login).await?,
    };
    let Some(target) = target else { return Ok(()) };
    seen.lock().push(target.clone());
    let server = target.parse().unwrap_or(names_lead_to);
    let options = SocketOptions { send_buffer: -1, receive_buffer: -1 };
    let mut far = Memory::default().connect(server, options).await?;
    match first {
        // With a name as the bound address, which is the longest form.
        5 => stream.write_all(&[&[5, 0, 0, 3, 5], &b"bound"[..], &[0, 0]].concat()).await?,
        _ => stream.write_all(b"HTTP/1.1 200 Connection established\r\nVia: test\r\n\r\n").await?,
    }
    copy_bidirectional(&mut stream, &mut far).await.map(drop)
}

async fn socks5_target(
    stream: &mut DuplexStream,
    login: Option<(&str, &str)>,
) -> std::io::Result<Option<String>> {
    let mut methods = vec![0; usize::from(stream.read_u8().await?)];
    stream.read_exact(&mut methods).await?;
    if let Some((user, password)) = login {
        if !methods.contains(&2) {
            stream.write_all(&[5, 0xff]).await?;
            return Ok(None);
        }
        stream.write_all(&[5, 2]).await?;
        assert_eq!(stream.read_u8().await?, 1);
        let given = [read_text(stream).await?, read_text(stream).await?];
        let accepted = given == [user, password];
        stream.write_all(&[1, u8::from(!accepted)]).await?;
        if !accepted {
            return Ok(None);
        }
    } else {
        stream.write_all(&[5, 0]).await?;
    }
    let mut head = [0; 4];
    stream.read_exact(&mut head).await?;
    assert_eq!(head[..3], [5, 1, 0]);
    let host = match head[3] {
        1 => {
            let mut address = [0; 4];
            stream.read_exact(&mut address).await?;
            std::net::Ipv4Addr::from(address).to_string()
        }
        3 => read_text(stream).await?,
        other => panic!("the type of address {other}"),
    };
    Ok(Some(format!("{host}:{}", stream.read_u16().await?)))
}

async fn read_text(stream: &mut DuplexStream) -> std::io::Result<String> {
    let mut text = vec![0; usize::from(stream.read_u8().await?)];
    stream.read_exact(&mut text).await?;
    Ok(String::from_utf8(text).expect("a text"))
}

async fn http_target(
    stream: &mut DuplexStream,
    login: Option<(&str, &str)>,
) -> std::io::Result<Option<String>> {
    // The first byte was read already.
    let mut request = b"C".to_vec();
    while !request.ends_with(b"\r\n\r\n") {
        request.push(stream.read_u8().await?);
    }
    let request = String::from_utf8(request).expect("a text");
    let target = request.split(' ').nth(1).expect("a target").to_owned();
    assert!(request.starts_with(&format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n")), "{request}");
    if let Some((user, password)) = login {
        use base64::Engine as _;
        let pair = base64::engine::general_purpose::STANDARD.encode(format!("{user}:{password}"));
        if !request.contains(&format!("\r\nProxy-Authorization: Basic {pair}\r\n")) {
            stream
                .write_all(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
                .await?;
            return Ok(None);
        }
    }
    Ok(Some(target))
}
