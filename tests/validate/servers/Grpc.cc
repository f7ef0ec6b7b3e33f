// SPDX-License-Identifier: GPL-2.0-or-later
// Grpc ADDRESS PORT THREADS: an asynchronous gRPC server. Its threads take events of one queue, so each event of a
// call may be that of another thread. Answers with what it was sent; Refuse always with an error, Find if that has
// an odd length (as grpc-server.js).
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

struct Call {
	enum { CAME, READ, ANSWERED } next = CAME;
	grpc::GenericServerContext context;
	grpc::GenericServerAsyncReaderWriter stream{ &context };
	grpc::ByteBuffer message;
};

static grpc::AsyncGenericService service;

static void wait_for_a_call(grpc::ServerCompletionQueue *queue)
{
	Call *call = new Call;

	service.RequestCall(&call->context, &call->stream, queue, queue, call);
}

static void answer(Call *call)
{
	bool refuse = call->context.method() == "/validate.Echo/Refuse";
	size_t n = call->message.Length();

	if (refuse)
		call->stream.Finish(grpc::Status(grpc::StatusCode(3 + n % 8), "refused"), call);
	else if (call->context.method() == "/validate.Echo/Find" && n % 2)
		call->stream.Finish(grpc::Status(grpc::StatusCode::NOT_FOUND, "nothing"), call);
	else
		call->stream.WriteAndFinish(call->message, grpc::WriteOptions(), grpc::Status::OK, call);
}

static void work(grpc::ServerCompletionQueue *queue)
{
	void *tag;
	bool good;

	while (queue->Next(&tag, &good)) {
		Call *call = static_cast<Call *>(tag);

		if (!good || call->next == Call::ANSWERED) {
			delete call;
		} else if (call->next == Call::CAME) {
			wait_for_a_call(queue);
			call->next = Call::READ;
			call->stream.Read(&call->message, call);
		} else {
			call->next = Call::ANSWERED;
			answer(call);
		}
	}
}

int main(int argc, char **argv)
{
	grpc::ServerBuilder builder;
	std::vector<std::thread> threads;

	if (argc != 4)
		return 1;
	builder.AddListeningPort(std::string(argv[1]) + ":" + argv[2], grpc::InsecureServerCredentials());
	builder.RegisterAsyncGenericService(&service);
	std::unique_ptr<grpc::ServerCompletionQueue> queue = builder.AddCompletionQueue();
	std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
	if (!server)
		return 1;
	for (int i = 0; i < 32; i++)
		wait_for_a_call(queue.get());
	for (int i = 0; i < atoi(argv[3]); i++)
		threads.emplace_back(work, queue.get());
	for (std::thread &t : threads)
		t.join();
	return 0;
}
