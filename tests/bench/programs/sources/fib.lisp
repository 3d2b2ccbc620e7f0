;; SPDX-License-Identifier: Apache-2.0
(declaim (optimize (speed 1) (debug 1)))
(defun fib (n) (declare (fixnum n)) (if (< n 2) n (the fixnum (+ (fib (- n 1)) (fib (- n 2))))))
(defun main ()
  (let ((budget (parse-integer (car (last sb-ext:*posix-argv*)))))
    (loop while (< (/ (get-internal-run-time) (/ internal-time-units-per-second 1000)) budget) do (fib 27))))
(main)
