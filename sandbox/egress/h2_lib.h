/*
 * sandbox/egress/h2_lib.h - nghttp2, which speaks HTTP/2 with the program inside: late.h
 */
#ifndef SANDBOX_EGRESS_H2_LIB_H
#define SANDBOX_EGRESS_H2_LIB_H

#include <nghttp2/nghttp2.h>

#define H2_CALLS(X)											\
	X(nghttp2_option_new) X(nghttp2_option_del) X(nghttp2_option_set_no_auto_window_update)		\
	X(nghttp2_option_set_max_send_header_block_length) X(nghttp2_option_set_no_closed_streams)	\
	X(nghttp2_option_set_max_outbound_ack)								\
	X(nghttp2_session_callbacks_new) X(nghttp2_session_callbacks_del)				\
	X(nghttp2_session_callbacks_set_on_begin_headers_callback)					\
	X(nghttp2_session_callbacks_set_on_header_callback)						\
	X(nghttp2_session_callbacks_set_on_frame_recv_callback)						\
	X(nghttp2_session_callbacks_set_on_frame_send_callback)						\
	X(nghttp2_session_callbacks_set_on_data_chunk_recv_callback)					\
	X(nghttp2_session_callbacks_set_on_stream_close_callback)					\
	X(nghttp2_session_server_new2) X(nghttp2_session_del) X(nghttp2_session_mem_recv)		\
	X(nghttp2_session_mem_send) X(nghttp2_session_want_read) X(nghttp2_session_want_write)		\
	X(nghttp2_session_get_stream_user_data) X(nghttp2_session_set_stream_user_data)			\
	X(nghttp2_session_resume_data) X(nghttp2_session_consume) X(nghttp2_session_consume_connection)	\
	X(nghttp2_session_set_local_window_size) X(nghttp2_session_terminate_session)			\
	X(nghttp2_submit_settings) X(nghttp2_submit_headers) X(nghttp2_submit_response)			\
	X(nghttp2_submit_trailer) X(nghttp2_submit_rst_stream)

struct h2_lib {
#define H2_MEMBER(name) __typeof__(name) *name;
	H2_CALLS(H2_MEMBER)
#undef H2_MEMBER
};

/* Zeroed until h2_lib_load(). */
extern struct h2_lib h2_lib;

struct err;

/**
 * h2_lib_load() - Open the library once for this process
 *
 * Should: come before the process is confined. Without it HTTP/1.1 alone is
 * offered. Return: 0, or -1 with @err
 */
int h2_lib_load(struct err *err);

#endif
