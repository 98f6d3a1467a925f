// SPDX-License-Identifier: Apache-2.0
#include "transport/tcp/crypto_library.hpp"

#include <dlfcn.h>

#include "base/error.hpp"
#include "lci/lci.h"

namespace lci {
namespace {

void* open_library(const std::string& file) {
  if (!file.empty()) return ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  void* const newer = ::dlopen("libcrypto.so.3", RTLD_NOW | RTLD_LOCAL);
  return newer ? newer : ::dlopen("libcrypto.so.1.1", RTLD_NOW | RTLD_LOCAL);
}

template <typename Function>
bool find(void* library, const char* name, Function* out) {
  *out = reinterpret_cast<Function>(::dlsym(library, name));
  return *out != nullptr;
}

}  // namespace

int CryptoLibrary::load(const std::string& file, CryptoLibrary* out) {
  void* const library = open_library(file);
  if (!library) {
    return fail(LCI_ERR_UNSUPPORTED,
                "create runtime: net_security=sealed needs OpenSSL's libcrypto: %.300s; install it, or name its file "
                "by attribute crypto_library",
                ::dlerror());
  }
  const bool whole = find(library, "EVP_CIPHER_CTX_new", &out->CIPHER_CTX_new) &&
                     find(library, "EVP_CIPHER_CTX_free", &out->CIPHER_CTX_free) &&
                     find(library, "EVP_CIPHER_CTX_ctrl", &out->CIPHER_CTX_ctrl) &&
                     find(library, "EVP_aes_128_gcm", &out->aes_128_gcm) &&
                     find(library, "EVP_EncryptInit_ex", &out->EncryptInit_ex) &&
                     find(library, "EVP_EncryptUpdate", &out->EncryptUpdate) &&
                     find(library, "EVP_EncryptFinal_ex", &out->EncryptFinal_ex) &&
                     find(library, "EVP_DecryptInit_ex", &out->DecryptInit_ex) &&
                     find(library, "EVP_DecryptUpdate", &out->DecryptUpdate) &&
                     find(library, "EVP_DecryptFinal_ex", &out->DecryptFinal_ex);
  if (whole) return LCI_DONE;
  return fail(LCI_ERR_UNSUPPORTED, "create runtime: attribute crypto_library, %.300s: it is no libcrypto",
              file.empty() ? "libcrypto" : file.c_str());
}

}  // namespace lci
