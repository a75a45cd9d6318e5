/*
 * sandbox/egress/tls_lib.h - OpenSSL 3, loaded when the helper has TLS to terminate: late.h
 */
#ifndef SANDBOX_EGRESS_TLS_LIB_H
#define SANDBOX_EGRESS_TLS_LIB_H

#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

struct err;

#define TLS_CRYPTO_CALLS(X)										\
	X(ASN1_INTEGER_free) X(ASN1_INTEGER_to_BN) X(ASN1_STRING_set) X(BIO_ctrl) X(BIO_free) X(BIO_new)	\
	X(BIO_new_mem_buf) X(BIO_read) X(BIO_write) X(BIO_s_mem) X(BN_bin2bn) X(BN_free) X(BN_to_ASN1_INTEGER)	\
	X(ERR_clear_error) X(ERR_error_string_n) X(ERR_peek_last_error) X(EVP_PKEY_Q_keygen)		\
	X(EVP_PKEY_free) X(EVP_PKEY_up_ref) X(EVP_sha256) X(OPENSSL_init_crypto) X(PEM_read_bio_PrivateKey)	\
	X(PEM_read_bio_X509) X(PEM_write_bio_X509) X(PEM_write_bio_PrivateKey)				\
	X(RAND_bytes) X(X509_EXTENSION_free) X(X509_NAME_add_entry_by_txt)				\
	X(X509_STORE_CTX_get_error) X(X509_STORE_add_cert) X(X509_STORE_new) X(X509_STORE_free)		\
	X(X509V3_EXT_conf_nid) X(X509V3_set_ctx) X(X509_VERIFY_PARAM_set1_ip) X(X509_VERIFY_PARAM_set_flags)	\
	X(X509_add_ext) X(X509_free) X(X509_get_subject_name) X(X509_getm_notAfter)			\
	X(X509_getm_notBefore) X(X509_gmtime_adj) X(X509_new) X(X509_set_issuer_name) X(X509_set_pubkey)	\
	X(X509_set_serialNumber) X(X509_set_version) X(X509_sign) X(X509_up_ref)			\
	X(X509_verify_cert_error_string)

#define TLS_SSL_CALLS(X)										\
	X(OPENSSL_init_ssl) X(SSL_CTX_ctrl) X(SSL_CTX_free) X(SSL_CTX_new) X(SSL_CTX_set1_cert_store)	\
	X(SSL_CTX_set_alpn_protos) X(SSL_CTX_set_alpn_select_cb) X(SSL_CTX_set_options)			\
	X(SSL_CTX_callback_ctrl) X(SSL_CTX_use_PrivateKey) X(SSL_CTX_use_certificate) X(SSL_CTX_set_verify)	\
	X(SSL_CTX_get_cert_store) X(SSL_ctrl) X(SSL_do_handshake)		\
	X(SSL_free) X(SSL_get0_alpn_selected) X(SSL_get0_param) X(SSL_get_error) X(SSL_get_ex_data)	\
	X(SSL_get_servername) X(SSL_get_verify_result) X(SSL_new) X(SSL_pending) X(SSL_read)		\
	X(SSL_set_ex_data) X(SSL_set0_rbio) X(SSL_set0_wbio) X(SSL_set1_host) X(SSL_set_accept_state)	\
	X(SSL_set_connect_state) X(SSL_get_fd) X(SSL_set_fd) X(SSL_set_hostflags) X(SSL_shutdown) X(SSL_use_PrivateKey)	\
	X(SSL_use_certificate) X(SSL_write) X(TLS_client_method) X(TLS_server_method)			\
	X(SSL_CTX_set_num_tickets) X(SSL_is_init_finished) X(SSL_get_session) X(SSL_SESSION_is_resumable)

struct tls_lib {
#define TLS_MEMBER(name) __typeof__(name) *name;
	TLS_CRYPTO_CALLS(TLS_MEMBER)
	TLS_SSL_CALLS(TLS_MEMBER)
#undef TLS_MEMBER
};

/* Zeroed until tls_lib_load(). */
extern struct tls_lib tls_lib;

/**
 * tls_lib_load() - Open the library once for this process
 *
 * Reads no configuration file of OpenSSL's. Should: come before the process is
 * confined. Return: 0, or -1 with @err: ERR_MISSING, with a hint
 */
int tls_lib_load(struct err *err);

/* tls_lib_why() - what OpenSSL says of its last failure, into @ret; clears its list */
void tls_lib_why(char *ret, size_t size);

#endif
