"""A proxy that takes CONNECT, ends TLS with the certificate it is given, and passes the bytes on to a
port of this host: the hosts outside, under their own names and on port 443, without being them.

    tls_front.py CERTIFICATE KEY LOG HOST=PORT...    prints its own port

What clients say goes into LOG as it is read behind TLS.
"""
import socket, ssl, sys, threading

cert, key, log = sys.argv[1:4]
hosts = dict(a.split("=") for a in sys.argv[4:])
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(cert, key)
context.set_alpn_protocols(["http/1.1"])
said = open(log, "ab", buffering=0)

def copy(a, b, record):
    try:
        while data := a.recv(65536):
            if record:
                said.write(data)
            b.sendall(data)
    except OSError:
        pass
    for s in (a, b):
        try:
            s.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass

def serve(raw):
    try:
        head = b""
        while b"\r\n\r\n" not in head:
            part = raw.recv(1)
            if not part:
                return
            head += part
        host = head.split()[1].decode().rsplit(":", 1)[0]
        if host not in hosts:
            raw.sendall(b"HTTP/1.1 502 No\r\nContent-Length: 0\r\n\r\n")
            return
        raw.sendall(b"HTTP/1.1 200 Yes\r\n\r\n")
        inner = context.wrap_socket(raw, server_side=True)
        back = socket.create_connection(("127.0.0.1", int(hosts[host])))
        said.write(b"\n## " + host.encode() + b"\n")
        threading.Thread(target=copy, args=(back, inner, False), daemon=True).start()
        copy(inner, back, True)
    except (OSError, ssl.SSLError) as e:
        print(e, file=sys.stderr, flush=True)
    finally:
        raw.close()

listener = socket.create_server(("127.0.0.1", 0), backlog=100)
print(listener.getsockname()[1], flush=True)
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
