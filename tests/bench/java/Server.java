/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A server with 16 threads that answers in JSON, by regular expressions and dynamic proxies, and its
 * clients. Server MILLISECONDS: serve so long, and say how many requests were answered; clients are
 * other processes: Server --client PORT.
 */
import com.sun.net.httpserver.*;
import java.io.*;
import java.lang.reflect.Proxy;
import java.net.*;
import java.nio.charset.StandardCharsets;
import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.AtomicLong;
import java.util.regex.*;
public class Server {
    static final Pattern PAIR = Pattern.compile("\"([a-z]+)\":(\"(?:[^\"\\\\]|\\\\.)*\"|-?[0-9.]+)");
    static final AtomicLong answered = new AtomicLong();
    interface Service { String name(); double price(int nr); Map<String, String> tags(String text); }
    static Object serve(Object proxy, java.lang.reflect.Method method, Object[] args) {
        switch (method.getName()) {
        case "name": return "item-" + answered.get() % 97;
        case "price": return Math.log(2 + (Integer) args[0]) * 10;
        default:
            Map<String, String> tags = new TreeMap<>();
            for (String word : ((String) args[0]).split("[ ,;]+")) tags.merge(word.toLowerCase(), "1", (a, b) -> a + b);
            return tags;
        }
    }
    static final Service service = (Service) Proxy.newProxyInstance(Server.class.getClassLoader(), new Class<?>[] { Service.class }, Server::serve);
    static String quote(String s) { return '"' + s.replace("\\", "\\\\").replace("\"", "\\\"") + '"'; }
    static Map<String, String> parse(String text) {
        Map<String, String> ret = new HashMap<>();
        for (Matcher m = PAIR.matcher(text); m.find();) ret.put(m.group(1), m.group(2));
        return ret;
    }
    static String write(Map<String, String> asked) {
        StringBuilder out = new StringBuilder("{\"name\":").append(quote(service.name())).append(",\"prices\":[");
        for (int i = 0; i < 20; i++) out.append(i == 0 ? "" : ",").append(String.format("%.2f", service.price(i)));
        out.append("],\"tags\":{");
        service.tags(asked.getOrDefault("text", "none")).forEach((k, v) -> out.append(quote(k)).append(':').append(v.length()).append(','));
        return out.append("\"end\":0}}").toString();
    }
    static void answer(HttpExchange exchange) throws IOException {
        String text = new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8);
        byte[] reply = write(parse(text)).getBytes(StandardCharsets.UTF_8);
        exchange.getResponseHeaders().set("Content-Type", "application/json");
        exchange.sendResponseHeaders(200, reply.length);
        try (OutputStream out = exchange.getResponseBody()) { out.write(reply); }
        answered.incrementAndGet();
    }
    /* One connection, one request behind the other, until the server is gone. */
    static void ask(int port) {
        byte[] body = "{\"id\":17,\"text\":\"Some words, Some more; and \\\"quoted\\\" ones\"}".getBytes(StandardCharsets.UTF_8);
        String head = "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + body.length + "\r\n\r\n";
        byte[] reply = new byte[65536];
        try (Socket socket = new Socket("127.0.0.1", port)) {
            socket.setTcpNoDelay(true);
            for (;;) {
                socket.getOutputStream().write((head + new String(body, StandardCharsets.UTF_8)).getBytes(StandardCharsets.UTF_8));
                String got = "";
                while (!got.endsWith("\"end\":0}}")) {
                    int nr = socket.getInputStream().read(reply);
                    if (nr <= 0) return;
                    got += new String(reply, 0, nr, StandardCharsets.UTF_8);
                }
            }
        } catch (IOException e) { /* the server has ended */ }
    }
    public static void main(String[] args) throws Exception {
        if (args[0].equals("--client")) {
            for (int i = 0; i < 16; i++) new Thread(() -> ask(Integer.parseInt(args[1]))).start();
            return;
        }
        System.setProperty("sun.net.httpserver.nodelay", "true"); // else an answer waits for the client's ACK, 40 ms
        HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", 0), 64);
        ExecutorService threads = Executors.newFixedThreadPool(16, r -> new Thread(r, "Thread-server"));
        server.createContext("/", Server::answer);
        server.setExecutor(threads);
        server.start();
        System.out.println(server.getAddress().getPort());
        System.out.flush();
        Thread.sleep(Long.parseLong(args[0]));
        System.out.println(answered.get());
        System.exit(0);
    }
}
