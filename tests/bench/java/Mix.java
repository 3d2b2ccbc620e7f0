/* SPDX-License-Identifier: Apache-2.0 */
/* Two threads that use what programs do, stubs and inline code of the compilers among it. */
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.*;
import java.util.regex.Pattern;
import java.util.stream.*;
import java.util.zip.*;
import javax.crypto.Cipher;
import javax.crypto.spec.*;
public class Mix {
    static volatile long sink;
    interface Shape { double area(); }
    static final class A implements Shape { public double area() { return Math.pow(1.5, sink & 7); } }
    static final class B implements Shape { public double area() { return Math.log(2 + (sink & 7)); } }
    static final class C implements Shape { public double area() { return Math.exp(sink & 3); } }
    static void crypt(byte[] data) throws Exception {
        Cipher c = Cipher.getInstance("AES/CBC/PKCS5Padding");
        c.init(Cipher.ENCRYPT_MODE, new SecretKeySpec(new byte[16], "AES"), new IvParameterSpec(new byte[16]));
        sink += c.doFinal(data).length;
        Cipher g = Cipher.getInstance("AES/GCM/NoPadding");
        g.init(Cipher.ENCRYPT_MODE, new SecretKeySpec(new byte[16], "AES"), new GCMParameterSpec(128, Long.toString(sink++ + 1000000000000L).substring(0, 12).getBytes()));
        sink += g.doFinal(data).length;
        sink += MessageDigest.getInstance("SHA-256").digest(data)[0] + MessageDigest.getInstance("MD5").digest(data)[0] + MessageDigest.getInstance("SHA-512").digest(data)[0];
    }
    static void pack(byte[] data) throws Exception {
        CRC32 crc = new CRC32(); crc.update(data); sink += crc.getValue();
        Adler32 adler = new Adler32(); adler.update(data); sink += adler.getValue();
        Deflater d = new Deflater(); d.setInput(data); d.finish(); sink += d.deflate(new byte[data.length * 2]); d.end();
        sink += Base64.getEncoder().encodeToString(data).length();
    }
    static void text(String s) {
        sink += Pattern.compile("(a+)([0-9]{2,4})x?").matcher(s).results().count();
        sink += s.toUpperCase().indexOf("ZZ9") + s.hashCode() + s.split(",").length + s.replace('a', 'b').compareTo(s);
        sink += new String(s.getBytes(StandardCharsets.UTF_16), StandardCharsets.UTF_16).equals(s) ? 1 : 0;
    }
    static void numbers(Random r) {
        int[] a = r.ints(4000).toArray(); Arrays.sort(a); sink += Arrays.hashCode(a);
        long[] l = new long[4000]; Arrays.fill(l, 7); System.arraycopy(l, 0, l, 13, 3900); sink += Arrays.stream(l).sum();
        double x = 0; for (int i = 0; i < 3000; i++) x += Math.sin(i) + Math.tan(i) * Math.cos(i) + Math.pow(i, 0.3) + Math.log10(i + 1); sink += (long) x;
        BigInteger b = new BigInteger(2048, r); sink += b.multiply(b).mod(BigInteger.valueOf(97)).intValue() + b.modPow(BigInteger.valueOf(65537), b.add(BigInteger.ONE).setBit(0)).intValue();
    }
    static void objects(Random r) {
        Map<String, Integer> m = new HashMap<>();
        for (int i = 0; i < 3000; i++) m.merge("k" + r.nextInt(500), i, Integer::sum);
        sink += m.entrySet().stream().sorted(Map.Entry.comparingByValue()).map(Map.Entry::getKey).collect(Collectors.joining()).length();
        Shape[] shapes = { new A(), new B(), new C() }; double d = 0; for (int i = 0; i < 9000; i++) d += shapes[i % 3].area(); sink += (long) d;
        for (int i = 0; i < 200; i++) try { deep(i % 20); } catch (IllegalStateException e) { sink += e.getStackTrace().length; }
        Object o = new Object(); for (int i = 0; i < 5000; i++) synchronized (o) { sink += i; }
        sink += Arrays.asList(shapes).toArray(new Shape[0]).length + ((Object[]) shapes.clone()).length;
    }
    static void deep(int n) { if (n == 0) throw new IllegalStateException(); deep(n - 1); }
    static void run(long until) {
        Random r = new Random(1); byte[] data = new byte[8192]; r.nextBytes(data);
        String s = IntStream.range(0, 600).mapToObj(i -> "aa" + i + ",").collect(Collectors.joining());
        try { while (System.nanoTime() < until) { crypt(data); pack(data); text(s); numbers(r); objects(r); } } catch (Exception e) { throw new RuntimeException(e); }
    }
    public static void main(String[] args) throws Exception {
        long until = System.nanoTime() + Long.parseLong(args[0]) * 1000000;
        Thread a = new Thread(() -> run(until)), b = new Thread(() -> run(until)); a.start(); b.start(); a.join(); b.join();
    }
}
