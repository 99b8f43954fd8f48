/* Loaded before all other libraries (LD_PRELOAD): records and refuses every name look-up and connection that does not
   stay on this machine. One line for each call is appended to the file named by NETWORK_WATCH_LOG. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

static void record(const char *call, const char *target) {
  const char *path = getenv("NETWORK_WATCH_LOG");
  if (!path) return;
  char line[512];
  int length = snprintf(line, sizeof line, "native %s %.400s\n", call, target);
  int file = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) return;
  if (write(file, line, (size_t)length) < 0) { /* nothing can be done */ }
  close(file);
}

static int is_local_name(const char *name) {
  struct in6_addr six;
  if (!name || !*name || !strcasecmp(name, "localhost") || !strncmp(name, "127.", 4) || !strcmp(name, "0.0.0.0")) return 1;
  return inet_pton(AF_INET6, name, &six) == 1 && (IN6_IS_ADDR_LOOPBACK(&six) || IN6_IS_ADDR_UNSPECIFIED(&six));
}

static int is_local_address(const struct sockaddr *address, char *text, size_t size) {
  snprintf(text, size, "?");
  if (!address) return 1;
  if (address->sa_family == AF_INET) {
    const struct sockaddr_in *four = (const struct sockaddr_in *)address;
    char host[INET_ADDRSTRLEN];
    inet_ntop(AF_INET, &four->sin_addr, host, sizeof host);
    snprintf(text, size, "%s:%d", host, ntohs(four->sin_port));
    return (ntohl(four->sin_addr.s_addr) >> 24) == 127 || four->sin_addr.s_addr == INADDR_ANY;
  }
  if (address->sa_family == AF_INET6) {
    const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)address;
    char host[INET6_ADDRSTRLEN];
    inet_ntop(AF_INET6, &six->sin6_addr, host, sizeof host);
    snprintf(text, size, "[%s]:%d", host, ntohs(six->sin6_port));
    if (IN6_IS_ADDR_V4MAPPED(&six->sin6_addr)) return six->sin6_addr.s6_addr[12] == 127;
    return IN6_IS_ADDR_LOOPBACK(&six->sin6_addr) || IN6_IS_ADDR_UNSPECIFIED(&six->sin6_addr);
  }
  return 1; /* sockets within this machine */
}

#define REAL(name) ((typeof(&name))dlsym(RTLD_NEXT, #name))

int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints, struct addrinfo **result) {
  if (is_local_name(node)) return REAL(getaddrinfo)(node, service, hints, result);
  record("getaddrinfo", node);
  return EAI_NONAME;
}

struct hostent *gethostbyname(const char *name) {
  if (is_local_name(name)) return REAL(gethostbyname)(name);
  record("gethostbyname", name);
  h_errno = HOST_NOT_FOUND;
  return NULL;
}

struct hostent *gethostbyname2(const char *name, int family) {
  if (is_local_name(name)) return REAL(gethostbyname2)(name, family);
  record("gethostbyname2", name);
  h_errno = HOST_NOT_FOUND;
  return NULL;
}

int gethostbyname_r(const char *name, struct hostent *entry, char *buffer, size_t size, struct hostent **result,
                    int *error) {
  if (is_local_name(name)) return REAL(gethostbyname_r)(name, entry, buffer, size, result, error);
  record("gethostbyname_r", name);
  *result = NULL;
  *error = HOST_NOT_FOUND;
  return 0;
}

int connect(int socket, const struct sockaddr *address, socklen_t length) {
  char text[80];
  if (is_local_address(address, text, sizeof text)) return REAL(connect)(socket, address, length);
  record("connect", text);
  errno = ECONNREFUSED;
  return -1;
}

ssize_t sendto(int socket, const void *data, size_t size, int flags, const struct sockaddr *address, socklen_t length) {
  char text[80];
  if (is_local_address(address, text, sizeof text)) return REAL(sendto)(socket, data, size, flags, address, length);
  record("sendto", text);
  errno = ECONNREFUSED;
  return -1;
}

ssize_t sendmsg(int socket, const struct msghdr *message, int flags) {
  char text[80];
  if (!message || is_local_address(message->msg_name, text, sizeof text)) return REAL(sendmsg)(socket, message, flags);
  record("sendmsg", text);
  errno = ECONNREFUSED;
  return -1;
}
