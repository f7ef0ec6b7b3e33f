// SPDX-License-Identifier: GPL-2.0-or-later
// Jvm.java ADDRESS PORT DIRECTORY WORK_US SIGMA: HTTP with a dispatcher and four workers. /work computes for a
// time that is lognormal (mean WORK_US); /append appends 1 KiB to a log and syncs it, as a broker does that
// flushes each message; /pages/N reads N random pages of a file; all others are answered at once.
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.Executors;
import java.util.concurrent.ThreadLocalRandom;

class Jvm {
	static final byte[] PAGE = new byte[1024];
	static FileChannel log, pages;
	static double workUs, sigma;

	/* by the thread's own clock: waiting for the CPU does not count as work */
	static void work() {
		var clock = java.lang.management.ManagementFactory.getThreadMXBean();
		double z = ThreadLocalRandom.current().nextGaussian();
		long end = clock.getCurrentThreadCpuTime() + (long) (1000 * workUs * Math.exp(sigma * z - sigma * sigma / 2));
		while (clock.getCurrentThreadCpuTime() < end)
			;
	}

	static synchronized void append() throws IOException {
		log.write(ByteBuffer.wrap(PAGE));
		log.force(false);
	}

	static void read(long n) throws IOException {
		long size = Math.max(pages.size() / 4096, 1);
		for (; n > 0; n--)
			pages.read(ByteBuffer.allocate(4096), 4096 * ThreadLocalRandom.current().nextLong(size));
	}

	static void handle(HttpExchange x) throws IOException {
		String path = x.getRequestURI().getPath();
		if (path.equals("/work"))
			work();
		else if (path.equals("/append"))
			append();
		else if (path.startsWith("/pages/"))
			read(Long.parseLong(path.substring(7)));
		x.sendResponseHeaders(200, PAGE.length);
		x.getResponseBody().write(PAGE);
		x.close();
	}

	public static void main(String[] a) throws IOException {
		log = FileChannel.open(Path.of(a[2], "log.messages"), StandardOpenOption.CREATE, StandardOpenOption.WRITE, StandardOpenOption.APPEND);
		pages = FileChannel.open(Path.of(a[2], "pages", "data"), StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE);
		workUs = Double.parseDouble(a[3]);
		sigma = Double.parseDouble(a[4]);
		HttpServer server = HttpServer.create(new InetSocketAddress(a[0], Integer.parseInt(a[1])), 4096);
		server.createContext("/", Jvm::handle);
		server.setExecutor(Executors.newFixedThreadPool(4));
		server.start();
	}
}
