/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Classes that come and go: each loader has a copy of Work, whose methods are compiled and thrown
 * away with it. So code and methods of one class come to lie where another's were.
 */
import java.io.*;
import java.lang.reflect.Method;
import java.util.*;
public class Loaders {
    public static class Work {
        static int spin(int n) { int x = n; for (int i = 0; i < 2000; i++) x = x * 31 + i; return x; }
        static int inner(int n) { return spin(n) + spin(n + 1); }
        static int middle(int n) { return inner(n) ^ inner(n + 2); }
        public static int outer(int n) { return middle(n) + middle(n + 3); }
    }
    static class Loader extends ClassLoader {
        Class<?> define(byte[] code) { return defineClass("Loaders$Work", code, 0, code.length); }
    }
    static volatile int sink;
    static void run(byte[] code, long until) {
        try {
            while (System.nanoTime() < until) {
                Method outer = new Loader().define(code).getMethod("outer", int.class);
                for (int i = 0; i < 400; i++) sink += (Integer) outer.invoke(null, i);
                if ((sink & 15) == 0) System.gc();
            }
        } catch (ReflectiveOperationException e) { throw new RuntimeException(e); }
    }
    public static void main(String[] args) throws Exception {
        long until = System.nanoTime() + Long.parseLong(args[0]) * 1000000;
        byte[] code = Loaders.class.getResourceAsStream("Loaders$Work.class").readAllBytes();
        Thread a = new Thread(() -> run(code, until));
        a.start();
        a.join();
    }
}
