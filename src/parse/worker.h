/* SPDX-License-Identifier: Apache-2.0 */
/* The process that reads files of strangers: one request after the other, nothing kept between. */
#pragma once

/* Serves requests (parse/message.h) on @sock until it is closed. Ends at what makes no sense. */
__attribute__((__noreturn__)) void worker_main(int sock);
