//! Certificates of a day, for servers that speak TLS on 127.0.0.1.

use std::{
    fs,
    path::PathBuf,
    process::{Command, Stdio},
};

use tempfile::TempDir;

use crate::Port;

/// An authority and a certificate that it issued.
pub struct Certificates {
    folder: TempDir,
}

impl Certificates {
    /// Makes them anew.
    pub fn issue() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let made = Self { folder };
        let nothing = "[req]\ndistinguished_name=name\n[name]\n";
        fs::write(made.folder.path().join("none.cnf"), nothing).expect("a temporary file");
        let new = "req -config none.cnf -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 \
                   -nodes -days 1";
        let authority = "-addext basicConstraints=critical,CA:TRUE -subj /CN=authority";
        made.openssl(&format!("{new} {authority} -keyout ca.key -out ca.crt"));
        let names = "-addext basicConstraints=critical,CA:FALSE \
                     -addext subjectAltName=IP:127.0.0.1,DNS:localhost";
        let issued = "-CA ca.crt -CAkey ca.key -subj /CN=server -keyout server.key -out server.crt";
        made.openssl(&format!("{new} {names} {issued}"));
        made
    }

    /// The file with the authority's certificate, which whoever connects is to trust.
    pub fn authority(&self) -> PathBuf {
        self.folder.path().join("ca.crt")
    }

    /// Lines of the configuration of a server that speaks TLS on this port as well, and to other servers.
    pub fn lines(&self, port: &Port) -> Vec<String> {
        let file = |name: &str| self.folder.path().join(name).display().to_string();
        vec![
            format!("tls-port {}", port.number()),
            format!("tls-cert-file {}", file("server.crt")),
            format!("tls-key-file {}", file("server.key")),
            format!("tls-ca-cert-file {}", file("ca.crt")),
            "tls-auth-clients no".to_owned(),
            "tls-replication yes".to_owned(),
        ]
    }

    fn openssl(&self, arguments: &str) {
        let made = Command::new("openssl")
            .args(arguments.split_whitespace())
            .current_dir(self.folder.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        let made = made.expect("openssl is installed (apt-get install openssl)");
        assert!(made.success(), "openssl {arguments}");
    }
}
