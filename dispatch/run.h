/*
 * dispatch/run.h - one run, from the request to the result
 */
#ifndef DISPATCH_RUN_H
#define DISPATCH_RUN_H

struct err;
struct run_request;

/**
 * run_execute() - Do the whole of it, and undo what has to be undone
 * @req:	settled; borrowed
 *
 * Prints what a person or, with req->json, a program is to know. On every path,
 * a signal to us included, the command's processes are gone when it returns.
 *
 * Return: the exit status of agate; -1 with @err when it failed before there
 * was a run to tell of
 */
int run_execute(const struct run_request *req, struct err *err);

#endif
